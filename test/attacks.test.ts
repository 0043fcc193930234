import { beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Emulator } from '../emulator/emulator.ts';
import type { EnvironmentVariables } from '../src/config/variables.ts';
import { makeBanks } from './helpers/banks.ts';
import { closeLater } from './helpers/close-later.ts';
import { emulate } from './helpers/emulate.ts';
import { LISTENING, runService, startProcess } from './helpers/process.ts';
import { eventually, waitUntil } from './helpers/wait-until.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';

// What an attacker, a wrong variable or a wrong provider could do to the built process.

const TOKEN = 'operator-token-0123456789';

let emulator: Emulator;
let path: string;
beforeEach(async () => {
  emulator = await emulate();
  path = join(temporaryFolder(), 'file');
});

const sandbox = (): EnvironmentVariables => ({
  PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
  MANAGEMENT_TOKEN: TOKEN,
});

/** The service, once it has asked for the list. */
const start = async (env: EnvironmentVariables = {}) => {
  const service = await startProcess({ ...sandbox(), ...env });
  const banks = async (): Promise<string> => (await fetch(`${service.url}/banks`)).text();
  await banks();
  return {
    ...service,
    /** Status and body of the answer to `POST /refresh`. */
    refresh: async (): Promise<readonly [status: number, body: string]> => {
      const headers = { Authorization: `Bearer ${TOKEN}` };
      const answer = await fetch(`${service.managementUrl}/refresh`, { method: 'POST', headers });
      return [answer.status, await answer.text()];
    },
    /** How many banks are served. */
    count: async (): Promise<number> => (await banks()).split('"ispb"').length - 1,
  };
};

test.each<[what: string, put: () => unknown, env: () => EnvironmentVariables]>([
  ['a text', () => writeFileSync(path, 'mine'), () => ({})],
  ['a pipe', () => execFileSync('mkfifo', [path]), () => ({})],
  [
    'the file of the access token',
    () => writeFileSync(path, 'emulator-access-token'),
    () => ({ PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: path }),
  ],
])(
  'a service whose snapshot would replace %s does not start, and leaves it',
  async (_what, put, env) => {
    put();
    const before = lstatSync(path).ino;
    const { child, says, exit, output } = runService({
      ...sandbox(),
      CACHE_SNAPSHOT_FILE: path,
      ...env(),
    });
    // One that starts is given the time to save its list.
    const stop = async ([, url]: RegExpExecArray): Promise<void> => {
      await fetch(`${url}/banks`);
      child.kill('SIGINT');
    };
    await says(LISTENING).then(stop, () => undefined);
    const status = await exit;
    expect([status, lstatSync(path).ino]).toEqual([1, before]);
    expect(output()).toMatch(/^ {2}CACHE_SNAPSHOT_FILE[:,]/m);
  },
);

test('a file that somebody puts in the place of the snapshot while the service runs stays', async () => {
  const { refresh, end } = await start({ CACHE_SNAPSHOT_FILE: path });
  await eventually(() => existsSync(path));
  writeFileSync(path, 'mine');
  expect((await refresh())[0]).toBe(200);
  expect(await end('SIGINT')).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe('mine');
});

test('a list that loses a fifth at each load is refused before it has lost more than that of the largest', async () => {
  emulator.setBanks(makeBanks(500));
  const { refresh, count } = await start();
  let answer: readonly [number, string] = [200, ''];
  for (let load = 0, left = 500; load < 24 && answer[0] === 200; load += 1) {
    left = Math.ceil(left * 0.8);
    emulator.setBanks(makeBanks(left));
    answer = await refresh();
  }
  expect(await count()).toBe(400);
  expect(answer).toEqual([502, expect.stringContaining('shrank from 500 to 320 entries')]);
});

test('after a far too long list that passed, the right one comes back without an operator', async () => {
  emulator.setBanks(makeBanks(100));
  const { refresh, count } = await start();
  for (const banks of [1_000, 100]) {
    emulator.setBanks(makeBanks(banks));
    expect([banks, (await refresh())[0], await count()]).toEqual([banks, 200, banks]);
  }
});

test('names of spaces are refused; other names for all banks are told once, by log and metric', async () => {
  const named = (name: string) =>
    emulator.setBanks(makeBanks(100).map((bank) => ({ ...bank, name })));
  emulator.setBanks(makeBanks(100));
  const { managementUrl, refresh, written } = await start();
  named(' ');
  expect(await refresh()).toEqual([502, expect.stringContaining('"kind":"drifted"')]);
  named('Banco');
  for (let load = 0; load < 2; load += 1) expect((await refresh())[0]).toBe(200);
  const metrics = await (await fetch(`${managementUrl}/metrics`)).text();
  expect(metrics).toMatch(/^banks_list_last_large_change_timestamp_seconds [1-9]/m);
  const told = (): string[] =>
    written().match(/"level":40,.*changed by more than GUARD_MAX_SHRINK/g) ?? [];
  await eventually(() => told().length > 0);
  expect(told()).toHaveLength(1);
});

/**
 * Sends `bytes` to the management port from `localAddress`: the whole 127.0.0.0/8 is this machine.
 */
const send = (managementUrl: string, localAddress: string, bytes: string): void => {
  const socket = connect({
    host: '127.0.0.1',
    port: Number(new URL(managementUrl).port),
    localAddress,
  });
  closeLater(() => socket.destroy());
  socket.on('error', () => undefined).write(bytes);
};

test('half-sent requests leave the management port open to others, up to its limit', async () => {
  const { managementUrl } = await start();
  for (let count = 0; count < 90; count += 1)
    send(managementUrl, '127.0.0.2', 'GET / HTTP/1.1\r\n');
  expect((await fetch(`${managementUrl}/metrics`)).status).toBe(200);
});

test('the right management token is accepted while eight other addresses try wrong ones', async () => {
  const { managementUrl, refresh } = await start();
  const wrong = 'POST /refresh HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n\r\n';
  for (let count = 0; count < 32; count += 1)
    send(managementUrl, `127.0.1.${1 + (count % 8)}`, wrong);
  const metrics = async (): Promise<string> => (await fetch(`${managementUrl}/metrics`)).text();
  await waitUntil('32 refused tokens', metrics, (text) =>
    text.includes('banks_management_refusals_total{reason="wrong_token"} 32'),
  );
  expect((await refresh())[0]).toBe(200);
});
