// Writes snapshots as fast as it can until it is killed. A program of its own, since killing is the test.
import { createSnapshotFile } from '../../dist/src/sharing/snapshot-file.js';

const [, , path] = process.argv;
const file = createSnapshotFile(path, 'test');
process.stdout.write('writing\n');
for (let version = 1; ; version += 1) {
  const banks = Array.from({ length: 2_000 }, (_, index) => ({ code: String(index), version }));
  await file.write({ banks, receivedAtMs: version, changedAtMs: version });
}
