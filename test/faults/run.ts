/* oxlint-disable no-await-in-loop -- one fault at a time */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { banks } from './banks.ts';
import type { Fault } from './fault.ts';
import { http } from './http.ts';
import { operators } from './operators.ts';
import { provider } from './provider.ts';
import { service } from './service.ts';
import { sharing } from './sharing.ts';

// npm run faults [-- ROOM… /PATTERN/]: would the tests notice? Puts one fault at a time into a copy of the project and runs the
// tests that should notice it. PATTERN chooses faults by their file and effect. See docs/testing.md.

const ROOMS: Readonly<Record<string, readonly Fault[]>> = {
  banks,
  provider,
  sharing,
  http,
  operators,
  service,
};
/** Of the faults of each room. */
const LEAST_NOTICED = 0.75;
/** Tests that take longer hang, which is noticed too. */
const LIMIT_MS = 150_000;

const JEST =
  '--experimental-vm-modules --disable-warning=ExperimentalWarning node_modules/jest/bin/jest.js --runInBand --bail --ci'.split(
    ' ',
  );
// A fault may leave something unused; the question is what it does when it runs.
const BUILD =
  'node_modules/typescript/bin/tsc -p tsconfig.build.json --noUnusedLocals false --noUnusedParameters false'.split(
    ' ',
  );

const root = process.cwd();
const copy = mkdtempSync(join(tmpdir(), 'banks-bff-faults-'));
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** With what is not committed yet. */
const copyProject = (): void => {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const { stdout } = spawnSync('git', list, { cwd: root, encoding: 'utf8' });
  for (const file of stdout.split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  symlinkSync(resolve(root, 'node_modules'), join(copy, 'node_modules'));
};

interface Result {
  readonly isGood: boolean;
  readonly output: string;
}

/** Runs Node in the copy. */
const runNode = (args: readonly string[], limitMs = LIMIT_MS): Promise<Result> =>
  new Promise((done) => {
    const chunks: Buffer[] = [];
    const child = spawn(process.execPath, args, { cwd: copy, detached: true });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
    /** Also ends what the tests have started and left behind. */
    const end = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // Nothing is left.
      }
    };
    process.once('exit', end);
    const timer = setTimeout(end, limitMs);
    child.once('close', (code) => {
      clearTimeout(timer);
      process.off('exit', end);
      end();
      done({ isGood: code === 0, output: Buffer.concat(chunks).toString() });
    });
  });

interface Verdict {
  readonly word: 'noticed' | 'UNNOTICED' | 'INVALID';
  readonly reason: string;
}

const tryOut = async ({ file, code, fault, tests, unnoticed }: Fault): Promise<Verdict> => {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(code).length !== 2)
    return { word: 'INVALID', reason: `its code is not in the file exactly once: ${code.trim()}` };
  writeFileSync(
    path,
    text.replace(code, () => fault),
  );
  try {
    const build = await runNode(BUILD);
    if (!build.isGood) return { word: 'INVALID', reason: `the compiler refuses it: ${build.output.trim()}` };
    // One by one: jest by itself would begin with the slowest, not the likeliest.
    for (const test of tests) {
      const { isGood, output } = await runNode([...JEST, test]);
      if (!isGood)
        return { word: 'noticed', reason: /^ {2}● (.+)$/m.exec(output)?.[1] ?? 'the tests do not end' };
    }
    return { word: 'UNNOTICED', reason: unnoticed ?? 'no reason is given' };
  } finally {
    writeFileSync(path, text);
  }
};

/** Whether the faults of this room are valid, and enough of them noticed. */
const tryOutAll = async (room: string, faults: readonly Fault[]): Promise<boolean> => {
  const startedAtMs = performance.now();
  const verdicts: Verdict['word'][] = [];
  for (const fault of faults) {
    const { word, reason } = await tryOut(fault);
    verdicts.push(word);
    print(`${room}: ${word}  ${fault.file}: ${fault.effect}\n    ${reason}`);
  }
  const noticed = verdicts.filter((word) => word === 'noticed').length;
  const share = noticed / faults.length;
  const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
  print(`${room}: ${noticed} of ${faults.length} noticed, ${Math.floor(100 * share)} %, in ${seconds} s`);
  return share >= LEAST_NOTICED && !verdicts.includes('INVALID');
};

const args = process.argv.slice(2);
const pattern = new RegExp(args.find((arg) => /^\/.*\/$/.test(arg))?.slice(1, -1) ?? '');
const names = args.filter((arg) => arg in ROOMS);
const chosen = Object.entries(ROOMS)
  .filter(([room]) => names.length === 0 || names.includes(room))
  .map(([room, faults]) => ({
    room,
    faults: faults.filter(({ file, effect }) => pattern.test(`${file}: ${effect}`)),
  }))
  .filter(({ faults }) => faults.length > 0);

process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

copyProject();
const build = await runNode(BUILD);
const tests = new Set(chosen.flatMap(({ faults }) => faults.flatMap((fault) => fault.tests)));
const before = build.isGood ? await runNode([...JEST, ...tests], tests.size * LIMIT_MS) : build;
if (!before.isGood) {
  print(`${before.output}\nThe tests must pass without a fault first.`);
  process.exit(1);
}
let isGood = chosen.length > 0;
for (const { room, faults } of chosen) isGood = (await tryOutAll(room, faults)) && isGood;
process.exit(isGood ? 0 : 1);
