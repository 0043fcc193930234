import { beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { printConfig } from '../../src/commands/check-config.ts';
import { runCommand } from '../helpers/run-command.ts';
import { SANDBOX } from '../helpers/config.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The .env file, which all commands read.

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

test.each<[what: string, make: (path: string) => void, said: string]>([
  ['a pipe', (path) => execFileSync('mkfifo', [path]), 'not a regular file'],
  ['too large', (path) => writeFileSync(path, '#'.repeat(65_537)), 'more than 65536 bytes'],
  ['not UTF-8', (path) => writeFileSync(path, Buffer.from([0x23, 0xff])), 'not UTF-8'],
])('a .env that is %s is a problem', async (_what, make, said) => {
  make(join(folder, '.env'));
  const { status, text } = await runCommand(printConfig, SANDBOX, folder);
  expect(status).toBe(1);
  expect(text).toContain(`\n  .env: cannot be read (${said})`);
});

test('the environment takes precedence over .env, which may have comments, quotes and a byte order mark', async () => {
  const lines = [
    '\uFEFFCACHE_TTL="5m" # a comment',
    'export CACHE_MAX_STALE=1h',
    'PORT=1',
    'HOST=::1',
  ];
  writeFileSync(join(folder, '.env'), lines.join('\r\n'));
  const { status, text } = await runCommand(
    printConfig,
    { ...SANDBOX, PORT: '2', HOST: '' },
    folder,
  );
  expect(status).toBe(0);
  for (const [name, source, value] of [
    ['CACHE_TTL', '\\.env', '5m'],
    ['CACHE_MAX_STALE', '\\.env', '1h'],
    ['PORT', 'environment', '2'],
    ['HOST', '\\.env', '::1'],
  ])
    expect(text).toMatch(new RegExp(`^${name} +${source} +${value}$`, 'm'));
});
