import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { eventually, startRig, type Rig } from './kit/rig.ts';

// The programs in docs/api.md, run as they are printed there; only the address and the interval are the test's.
// (docs.test.ts runs the page's commands, browser/api-page.test.ts its script for web pages.)

const page = readFileSync('docs/api.md', 'utf8');
const programIn = (language: string, mark: string): string =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))]
    .map(([, program = '']) => program)
    .find((program) => program.includes(mark)) ?? '';

const scratch = mkdtempSync(join(tmpdir(), 'api-page-'));
let rig: Rig;
let child: ChildProcess | undefined;
afterEach(async () => {
  child?.kill('SIGKILL');
  await rig.close();
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('a service that keeps its list current', () => {
  const run = (command: string, name: string, program: string): (() => string[]) => {
    const file = join(scratch, name);
    writeFileSync(file, program.replace('http://localhost:3000/banks', `${rig.url}/banks`));
    child = spawn(command, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    return () => said.split('\n').slice(0, -1);
  };

  const programs: readonly (readonly [command: string, file: string, program: string])[] = [
    [
      process.execPath,
      'banks.mjs',
      programIn('js', 'If-None-Match').replace('EVERY_MS = 60_000', 'EVERY_MS = 50'),
    ],
    [
      'python3',
      'banks.py',
      programIn('python', 'If-None-Match').replace('EVERY_SECONDS = 60', 'EVERY_SECONDS = 0.05'),
    ],
  ];
  // Python may be missing on a developer's machine; with CI=true nothing may be skipped.
  const isRunnable = ([command]: (typeof programs)[number]): boolean =>
    // oxlint-disable-next-line node/no-process-env
    process.env['CI'] === 'true' || spawnSync(command, ['--version']).status === 0;

  test.each(programs.filter(isRunnable))(
    '%s %s waits as long as Retry-After says, and downloads a list only when it has changed',
    async (command, name, program) => {
      expect(program).toMatch(/EVERY_\w+ = (?:50;|0\.05)/);
      rig = await startRig({ before: (emulator) => emulator.behave('unavailable') });
      await eventually(() => rig.service.list.status().failure !== undefined);
      const said = run(command, name, program);
      await eventually(() => said().length === 1);
      expect(said()[0]).toMatch(/^provider_unavailable, again in [1-9]\d* s$/);

      await rig.emulator.behave('healthy');
      rig.clock.next();
      await eventually(() => rig.service.list.served() !== undefined);
      await eventually(() => said().includes('unchanged'));
      expect(said().slice(1, 3)).toEqual(['513 banks', 'unchanged']);

      rig.emulator.setBanks(JSON.parse(readFileSync('emulator/banks.json', 'utf8')).slice(1));
      rig.clock.next();
      await eventually(() => said().includes('512 banks'));
      const downloads = said().filter((line) => line.endsWith('banks'));
      expect(downloads).toEqual(['513 banks', '512 banks']);
    },
  );
});
