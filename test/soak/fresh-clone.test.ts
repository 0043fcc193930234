import { afterEach, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram, type Program } from '../kit/program.ts';

// A newcomer's first minute: a clone of what is committed, and the README's first command.

const LIMIT_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'banks-clone-'));
let demo: Program | undefined;
afterEach(async () => {
  // The shell, npm and the demo.
  if (demo?.child.pid) process.kill(-demo.child.pid, 'SIGKILL');
  await demo?.exit;
  rmSync(folder, { recursive: true });
});

test(`a fresh clone answers within ${LIMIT_MS / 1_000} s, by the first command of the README`, async () => {
  const [, command = ''] =
    /## Try it\n[^]*?```console\n\$ (.*)\n/.exec(readFileSync('README.md', 'utf8')) ?? [];
  expect(command).toContain('npm run demo');
  // In a container the files may belong to another user, which git refuses otherwise.
  writeFileSync(join(folder, 'gitconfig'), '[safe]\n\tdirectory = *\n');
  const env = {
    // oxlint-disable-next-line node/no-process-env -- npm's configuration and cache
    ...process.env,
    GIT_CONFIG_GLOBAL: join(folder, 'gitconfig'),
    PORT: '0',
    MANAGEMENT_PORT: '0',
  };
  const startedAtMs = performance.now();
  const seconds = (): number => Math.round((performance.now() - startedAtMs) / 100) / 10;
  const args = ['clone', '--quiet', process.cwd(), join(folder, 'banks-bff')];
  const clone = runProgram('git', { args, env });
  expect({ status: await clone.exit, output: clone.output() }).toEqual({ status: 0, output: '' });
  const clonedSeconds = seconds();
  demo = runProgram('bash', { args: ['-c', command], env, cwd: join(folder, 'banks-bff'), isDetached: true });
  const [, url = ''] = await demo.says(/Bank list +(http:\S+)/);
  const response = await fetch(url);
  const banks: unknown = await response.json();
  process.stdout.write(`cloned after ${clonedSeconds} s, the first answer after ${seconds()} s\n`);
  expect(response.status).toBe(200);
  expect(banks).toHaveLength(513);
  expect(performance.now() - startedAtMs).toBeLessThan(LIMIT_MS);
});
