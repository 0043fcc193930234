import { expect, test } from '@jest/globals';
import { mkdtempSync, readdirSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createEnvelope } from '../../src/sharing/envelope.ts';
import { createSnapshotFile } from '../../src/sharing/snapshot-file.ts';
import { runProgram } from '../kit/program.ts';
import { createRandom } from '../kit/random.ts';
import { EVERY_FIELD } from '../kit/read-banks.ts';

// The writer of a snapshot file is killed again and again: the file always contains a whole list, and what killed writers
// leave is removed.

const WRITER = fileURLToPath(new URL('../kit/snapshot-writer.js', import.meta.url));
const KILLS = 200;

test(`after each of ${KILLS} kills at random moments the file contains a complete list`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  process.stdout.write(`seed ${seed}\n`);
  const random = createRandom(seed);
  const directory = mkdtempSync(join(tmpdir(), 'banks-bff-'));
  const path = join(directory, 'banks.snapshot');
  const openFile = () =>
    createSnapshotFile(path, createEnvelope({ provenance: 'test', contract: EVERY_FIELD }));
  const file = openFile();
  let newest = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const writer = runProgram(process.execPath, { args: [WRITER, path] });
    await writer.says(/writing/);
    // A random moment of several writes, not a wait for something.
    await setTimeout(random() * 20);
    writer.child.kill('SIGKILL');
    await writer.exit;
    const kept = (await file.read())?.list;
    const versions = new Set(kept?.json.toString().match(/"version":\d+/g));
    expect(versions.size).toBeLessThanOrEqual(1);
    expect(kept?.count ?? 2_000).toBe(2_000);
    newest = Math.max(newest, kept?.receivedAtMs ?? 0);
  }
  expect(newest).toBeGreaterThan(1);

  const leftovers = readdirSync(directory).filter((name) => name.endsWith('.tmp'));
  process.stdout.write(`${leftovers.length} temporary files left by ${KILLS} kills\n`);
  expect(leftovers.length).toBeGreaterThan(0);
  for (const name of leftovers) utimesSync(join(directory, name), 0, 0);
  const kept = await file.read();
  if (kept) await openFile().write(kept.list, 0);
  expect(readdirSync(directory)).toEqual(['banks.snapshot']);
}, 120_000);
