import { afterEach, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readdirSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { createRandom } from '../kit/random.ts';
import { eventually } from '../kit/rig.ts';

// The whole process is killed again and again while it saves its list: the next one always starts with a whole list, and what
// killed ones leave is removed.

const KILLS = 200;
/** Each kills its own services: starting one takes most of the time. */
const LANES = 2;
/** Few enough that encoding them leaves most of the time to the writing. */
const BANKS = 500;

/** Long enough for several writes. */
const LONGEST_MS = 40;

const providers: Emulator[] = [];
const services = new Set<ServiceProcess>();
afterEach(async () => {
  for (const { child } of services) child.kill('SIGKILL');
  await Promise.all(providers.splice(0).map((provider) => provider.close()));
});

/** A provider that sends another list each time while `isWell`, and 503 otherwise. */
const startProvider = async () => {
  const emulator = await startEmulator();
  providers.push(emulator);
  const state = { isWell: true };
  emulator.respondWith((_req, res) => {
    if (!state.isWell) return res.writeHead(503).end();
    const version = emulator.listCalls();
    const banks = Array.from({ length: BANKS }, (_, index) => ({ code: String(index), version }));
    return res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(banks));
  });
  return { emulator, state };
};

const start = async (provider: Emulator, file: string): Promise<ServiceProcess> => {
  const service = await startProcess({
    MANAGEMENT_PORT: 'off',
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
    PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
    BANK_FIELDS: 'code,version',
    // So that it saves a list all the time.
    CACHE_TTL: '10ms',
    CACHE_SNAPSHOT_FILE: file,
  });
  services.add(service);
  return service;
};

/** The version of the list that the service serves; the list must be whole. */
const versionServed = async (service: ServiceProcess): Promise<number> => {
  const response = await fetch(`${service.urls()[0]}/banks`);
  expect(response.status).toBe(200);
  const text = await response.text();
  const versions = text.match(/"version":\d+/g) ?? [];
  expect(versions).toHaveLength(BANKS);
  expect(new Set(versions).size).toBe(1);
  return Number(versions[0]?.slice('"version":'.length));
};

const killAgainAndAgain = async (random: () => number): Promise<{ leftovers: number; versions: number }> => {
  const directory = mkdtempSync(join(tmpdir(), 'banks-bff-'));
  const file = join(directory, 'banks.snapshot');
  const { emulator, state } = await startProvider();
  const served = new Set<number>();
  for (let kill = 0; kill < KILLS / LANES; kill += 1) {
    state.isWell = kill === 0;
    const service = await start(emulator, file);
    // The provider fails, so that this list can only come from the file.
    if (kill > 0) served.add(await versionServed(service));
    state.isWell = true;
    const isWriting = (name: string): boolean => name.includes(`.${service.child.pid}-`);
    await eventually(() => existsSync(file) && readdirSync(directory).some(isWriting));
    // A random moment in this write, in one of the next or between them.
    await setTimeout(random() * LONGEST_MS);
    await service.end('SIGKILL');
    services.delete(service);
  }

  const leftovers = readdirSync(directory).filter((name) => name.endsWith('.tmp'));
  for (const name of leftovers) utimesSync(join(directory, name), 0, 0);
  state.isWell = false;
  const service = await start(emulator, file);
  served.add(await versionServed(service));
  state.isWell = true;
  await eventually(() => readdirSync(directory).every((name) => !leftovers.includes(name)));
  expect(await service.end('SIGTERM')).toBe(0);
  expect(readdirSync(directory)).toEqual(['banks.snapshot']);
  return { leftovers: leftovers.length, versions: served.size };
};

test(`after each of ${KILLS} kills at random moments the next process starts with a whole list`, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = createRandom(seed);
  const lanes = await Promise.all(Array.from({ length: LANES }, () => killAgainAndAgain(random)));
  const sum = (of: 'leftovers' | 'versions'): number => lanes.reduce((total, lane) => total + lane[of], 0);
  process.stdout.write(
    `seed ${seed}: ${sum('versions')} lists, ${sum('leftovers')} of ${KILLS} kills left a temporary file\n`,
  );
  expect(sum('versions')).toBeGreaterThan(KILLS / 10);
  expect(sum('leftovers')).toBeGreaterThan(0);
});
