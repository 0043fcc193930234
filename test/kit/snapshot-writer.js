// Writes snapshots as fast as it can until it is killed. A program of its own, since killing is the test.
import { readList } from '../../dist/src/banks/reading/list-reader.js';
import { createEnvelope } from '../../dist/src/sharing/envelope.js';
import { createSnapshotFile } from '../../dist/src/sharing/snapshot-file.js';

const [, , path] = process.argv;
const contract = { fields: undefined, requiredFields: [], maxBytes: 5 * 1024 * 1024 };
const file = createSnapshotFile(path, createEnvelope({ provenance: 'test', contract }));
// Made beforehand: what is to be killed is the writing.
const lists = [];
for (let list = 0; list < 3; list += 1) {
  const banks = Array.from({ length: 2_000 }, (_, index) => ({ code: String(index), version: list }));
  lists.push(await readList(Buffer.from(JSON.stringify(banks)), contract));
}
process.stdout.write('writing\n');
for (let version = 1; ; version += 1) {
  await file.write({ ...lists[version % 3], receivedAtMs: version, changedAtMs: version });
}
