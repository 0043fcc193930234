/* oxlint-disable no-await-in-loop -- one fault at a time */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { banks } from '../test/faults/banks.ts';
import { provider } from '../test/faults/provider.ts';
import { sharing } from '../test/faults/sharing.ts';

// node dist/simulation/strength.js [SECONDS] [/PATTERN/]: puts the faults of test/faults/ for banks, provider and sharing into the
// code, one at a time, and says which of them the simulation alone finds.

const [seconds = '20', pattern = '//'] = process.argv.slice(2);
const chosen = new RegExp(pattern.slice(1, -1));
const root = process.cwd();
const copy = mkdtempSync(join(tmpdir(), 'banks-bff-strength-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const { stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
for (const file of new Set(stdout.split('\0').filter((name) => name !== '' && name !== 'node_modules'))) {
  mkdirSync(dirname(join(copy, file)), { recursive: true });
  cpSync(join(root, file), join(copy, file));
}
symlinkSync(resolve(root, 'node_modules'), join(copy, 'node_modules'));

const runNode = (args: readonly string[]): Promise<{ status: number | null; output: string }> =>
  new Promise((done) => {
    const child = spawn(process.execPath, args, { cwd: copy });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
    child.once('close', (status) => done({ status, output: Buffer.concat(chunks).toString() }));
  });

const BUILD = [
  'node_modules/typescript/bin/tsc',
  '-p',
  'tsconfig.build.json',
  '--noUnusedLocals',
  'false',
  '--noUnusedParameters',
  'false',
];
const SIMULATE = ['dist/simulation/main.js', '--mode', 'quick', '--seconds', seconds, '--days', '100000'];

let [found, tried] = [0, 0];
for (const { file, code, fault, effect } of [...banks, ...provider, ...sharing]) {
  if (!chosen.test(`${file}: ${effect}`)) continue;
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(code).length !== 2) {
    print(`INVALID  ${file}: ${effect}`);
    continue;
  }
  writeFileSync(
    path,
    text.replace(code, () => fault),
  );
  const build = await runNode(BUILD);
  const { status, output } = build.status === 0 ? await runNode(SIMULATE) : { status: 0, output: '' };
  writeFileSync(path, text);
  tried += 1;
  if (status === 1) found += 1;
  const promise = output.split('\n').find((line) => /^[A-Z].* [a-z]/.test(line)) ?? '';
  print(
    `${build.status === 0 ? (status === 1 ? 'found   ' : 'NOT FOUND') : 'INVALID'} ${file}: ${effect}\n    ${status === 1 ? promise : ''}`,
  );
}
print(`${found} of ${tried} found, with ${seconds} s for each`);
