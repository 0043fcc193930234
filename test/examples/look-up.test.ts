import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { openBanks } from '../../examples/look-up/banks.ts';
import { ALL_BANKS } from '../helpers/emulate.ts';
import { runInShell, runNode } from '../helpers/program.ts';
import { startRig, type RigOptions } from '../helpers/rig.ts';
import { serve } from '../helpers/serve.ts';
import { temporaryFile, temporaryFolder } from '../helpers/temporary-folder.ts';
import { eventually } from '../helpers/wait-until.ts';

// The recipe of examples/look-up/: a service of somebody else's that keeps its list current.

const LEAST_WAIT_MS = 50;
const NUBANK = { code: '260', ispb: '18236120' };
const renamed = ALL_BANKS.map((bank) =>
  bank['code'] === NUBANK.code ? { ...bank, name: 'ANOTHER NAME' } : bank,
);
const nameOf = (list: readonly Record<string, string>[]): string | undefined =>
  list.find(({ code }) => code === NUBANK.code)?.['name'];

/** The service during an outage, from its start. */
const startCold = (options: RigOptions = {}) =>
  startRig({
    env: { CACHE_TTL: '1s' },
    before: (provider) => provider.behave('unavailable'),
    ...options,
  });

test('it has its list on day 0, follows the service, asks once per TTL, and downloads only changes', async () => {
  const { url, requests, clock, emulator } = await startCold({ emulator: { banks: ALL_BANKS } });
  const answered = (status: number): number =>
    requests('/banks').filter(({ statusCode }) => statusCode === status).length;
  const file = temporaryFile(JSON.stringify(renamed));
  const find = await openBanks(`${url}/banks`, file, LEAST_WAIT_MS);
  const seen = (): string | undefined => find(NUBANK.code)?.name;
  await eventually(() => seen() === nameOf(renamed) && answered(503) > 0);

  const startedAtMs = performance.now();
  await emulator.behave('healthy');
  clock.next();
  await eventually(() => seen() === nameOf(ALL_BANKS));
  const saved = (): Record<string, string>[] => JSON.parse(readFileSync(file, 'utf8'));
  await eventually(() => nameOf(saved()) === nameOf(ALL_BANKS));

  await eventually(() => answered(304) === 2);
  // The clock of the service stands still: the list is always fresh for one second more.
  expect(performance.now() - startedAtMs).toBeGreaterThan(1_900);
  expect(answered(200)).toBe(1);
  emulator.setBanks(renamed);
  clock.next();
  await eventually(() => find(NUBANK.ispb)?.name === nameOf(renamed));
  expect(answered(200)).toBe(2);
});

test('it tells no list from no such bank, and replaces a damaged file', async () => {
  const { url, clock, emulator } = await startCold();
  const file = temporaryFile('[{"code":"26');
  const find = await openBanks(`${url}/banks`, file, LEAST_WAIT_MS);
  expect(() => find('no such bank')).toThrow('there is no list of banks');
  await emulator.behave('healthy');
  clock.next();
  await eventually(() => {
    try {
      return find('no such bank') === undefined;
    } catch {
      return false;
    }
  });
  await eventually(() => existsSync(file) && readFileSync(file, 'utf8').endsWith(']'));
});

/** Keeps a list current that has this `Cache-Status`. @returns how often it was asked for */
const countRequests = async (cacheStatus: string): Promise<() => number> => {
  let requests = 0;
  const server = createServer((_req, res) => {
    requests += 1;
    res.setHeader('Cache-Status', cacheStatus).end(JSON.stringify(ALL_BANKS));
  });
  const port = await serve(server);
  const file = join(temporaryFolder(), 'banks.json');
  await openBanks(`http://127.0.0.1:${port}/`, file, LEAST_WAIT_MS);
  return () => requests;
};

test("it waits for the service's TTL, not for that of a cache, also where a timer could not wait as long", async () => {
  const fresh = await countRequests('edge; hit; ttl=0, banks-bff; hit; ttl=2592000');
  const overdue = await countRequests('edge; hit; ttl=2592000, banks-bff; hit; ttl=-1');
  await eventually(() => overdue() > 2);
  expect(fresh()).toBe(1);
});

const CHANGES = resolve('examples/look-up/changes.mjs');

test('the differences of two downloads are the banks that came, went and changed', async () => {
  const folder = temporaryFolder();
  const download = (name: string, ...banks: readonly object[]): string => {
    writeFileSync(join(folder, name), JSON.stringify(banks));
    return join(folder, name);
  };
  const bank = (ispb: string, name: string): object => ({ ispb, name });
  const yesterday = download('1.json', bank('001', 'GONE'), bank('033', 'BEFORE'), NUBANK);
  const today = download('2.json', NUBANK, bank('033', 'AFTER'), bank('999', 'NEW BANK'));
  const { exit, output } = runNode(CHANGES, { programArgs: [yesterday, today] });
  expect(await exit).toBe(0);
  expect(output().trimEnd().split('\n')).toEqual([
    'removed {"ispb":"001","name":"GONE"}',
    'changed {"ispb":"033","name":"BEFORE"} to {"ispb":"033","name":"AFTER"}',
    'added   {"ispb":"999","name":"NEW BANK"}',
  ]);

  const many = download(
    'many.json',
    ...Array.from({ length: 20_000 }, (_, n) => bank(`${n}`, 'A')),
  );
  const command = `"${process.execPath}" ${CHANGES} ${today} ${many} 2>&1 | head -n 1`;
  expect(await runInShell(command)).toBe('removed {"code":"260","ispb":"18236120"}\n');
});

test('the program of differences explains what is wrong with its arguments', async () => {
  const { exit, output } = runNode(CHANGES, { programArgs: ['absent.json', 'absent.json'] });
  expect(await exit).toBe(2);
  expect(output()).toMatch(/^absent\.json is no list of banks: ENOENT.*\n$/);
});
