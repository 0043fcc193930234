import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// node dist/simulation/strength.js [RUNS] [/PATTERN/]: puts the faults of faults.txt into the code, one at a time, and says
// which of them the simulation alone finds in so many runs of the same seeds.

const [runs = '300', pattern = '//'] = process.argv.slice(2);
const chosen = new RegExp(pattern.slice(1, -1));
const root = process.cwd();
const copy = mkdtempSync(join(tmpdir(), 'banks-bff-strength-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
const print = (text: string): void => void process.stdout.write(`${text}\n`);

cpSync(root, copy, { recursive: true, filter: (path) => !/\/(?:node_modules|\.git|dist)$/.test(path) });
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));

const runNode = (...args: readonly string[]) =>
  spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8', maxBuffer: Infinity });
// Types are another matter, and take most of the time.
const TSC = 'node_modules/typescript/bin/tsc';
const build = () => runNode(TSC, '-p', 'tsconfig.build.json', '--noCheck');

const simulate = () => {
  const command = `dist/simulation/main.js --mode quick --brief --seed 1 --runs ${runs}`;
  const { status, stdout } = runNode(...command.split(' '));
  return { status, reason: /^\d+ \w+: .*$/m.exec(stdout)?.[0] ?? stdout };
};

build();
const before = simulate();
if (before.status !== 0) throw new Error(`a promise is broken without a fault: ${before.reason}`);

/** A heading and lines of code, what it is at `-` and with the fault at `+`. */
const FAULT = /^(\S+): (.*)\n((?:-.*\n)+)((?:\+.*\n)+)/gm;
const codeIn = (lines: string): string => lines.trimEnd().replace(/^[-+] ?/gm, '');

let [found, tried] = [0, 0];
for (const fault of readFileSync('simulation/faults.txt', 'utf8').matchAll(FAULT)) {
  const [, file = '', effect = '', right = '', wrong = ''] = fault;
  if (!chosen.test(`${file}: ${effect}`)) continue;
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  const isThere = text.split(codeIn(right)).length === 2;
  writeFileSync(
    path,
    text.replace(codeIn(right), () => codeIn(wrong)),
  );
  const isBuilt = build().status === 0;
  writeFileSync(path, text);
  if (!isThere || !isBuilt) {
    print(`INVALID   ${file}: ${effect}`);
    continue;
  }
  tried += 1;
  const { status, reason } = simulate();
  if (status === 1) found += 1;
  print(`${status === 1 ? 'found     ' : 'NOT FOUND '}${file}: ${effect}`);
  if (status === 1) print(`          ${reason}`);
}
print(`${found} of ${tried} found, in ${runs} runs each`);
