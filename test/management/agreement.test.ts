import { expect, test } from '@jest/globals';
import { join } from 'node:path';
import supertest from 'supertest';
import type { Emulator } from '../../emulator/emulator.ts';
import type { Freshness } from '../../src/banks/freshness.ts';
import { wall } from '../../src/clock.ts';
import { BANKS, emulate } from '../helpers/emulate.ts';
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts';
import { nextLoad, startLoadedRig, startRig, type Rig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// Status page, /healthz, log and metrics in situations in which one of them could be mistaken: each
// is compared with what a user gets and with facts that the test knows, and none may show a moment
// of the future.

const TTL_MS = 3_600_000;
const MAX_STALE_MS = 18_000_000;
const LIFE_MS = TTL_MS + MAX_STALE_MS;

/** What the test knows. */
interface Facts {
  /** What a request for /banks gets. */
  readonly users: 'the list' | 'an error' | 'nothing yet';
  readonly state: Freshness;
  readonly ageMs?: number;
  /** The kind of the failure that lasts, and for how long loads have been failing. */
  readonly failing?: readonly [kind: string, forMs: number];
  /** The page's headline, and what else it says. */
  readonly page: readonly string[];
  /** The start of the newest line on the list. */
  readonly line: string;
}

interface Stage {
  readonly provider: Emulator;
  readonly start: (options?: { laterMs?: number; clock?: ManualClock }) => Promise<Rig>;
  readonly startLoaded: () => Promise<Rig>;
}

/**
 * Starts a service that saves its list, and a later one that finds it while the provider does not
 * answer.
 */
const restartInAHang = async (
  { provider, startLoaded, start }: Stage,
  laterMs: number,
): Promise<Rig> => {
  await (await startLoaded()).close();
  await provider.behave('hang');
  const calls = provider.listCalls();
  const rig = await start({ laterMs });
  if (laterMs > TTL_MS) await eventually(() => provider.listCalls() > calls);
  return rig;
};

/** A service whose next attempt is an hour after a failure at 59 min 38 s. */
const failForAnHour = async ({ provider, startLoaded }: Stage): Promise<Rig> => {
  const rig = await startLoaded();
  await provider.behave('unavailable', { retryAfter: '3600' });
  await nextLoad(rig);
  return rig;
};
const FAILED_AT_MS = TTL_MS - 21_600;

const SITUATIONS: Readonly<Record<string, readonly [Facts, (stage: Stage) => Promise<Rig>]>> = {
  'before the first list': [
    {
      users: 'nothing yet',
      state: 'empty',
      page: ['The first list is being loaded.'],
      line: 'none',
    },
    async ({ provider, start }) => {
      await provider.behave('hang');
      return start();
    },
  ],
  'after the first load': [
    {
      users: 'the list',
      state: 'fresh',
      ageMs: 0,
      page: ['Users get the current list.'],
      line: 'list: initial load succeeded',
    },
    ({ startLoaded }) => startLoaded(),
  ],
  'after a first load that failed': [
    {
      users: 'an error',
      state: 'empty',
      failing: ['unavailable', 0],
      page: ['Users get errors: there is no cached list.'],
      line: 'list: load failed: the provider fails (503); there is no list to serve',
    },
    async ({ provider, startLoaded }) => {
      await provider.behave('unavailable');
      return startLoaded();
    },
  ],
  'at the last moment at which the list is fresh': [
    {
      users: 'the list',
      state: 'fresh',
      ageMs: TTL_MS,
      failing: ['unavailable', TTL_MS - FAILED_AT_MS],
      page: ['Users get the current list, but it cannot be renewed.'],
      line: 'list: load failed: the provider fails (503); the cached list is still fresh',
    },
    async (stage) => {
      const rig = await failForAnHour(stage);
      rig.clock.advance(TTL_MS - FAILED_AT_MS);
      return rig;
    },
  ],
  'at the moment at which it becomes stale': [
    {
      users: 'the list',
      state: 'stale',
      ageMs: TTL_MS + 1,
      failing: ['unavailable', TTL_MS - FAILED_AT_MS + 1],
      page: ['Users get an old list.'],
      line: 'list: not renewed in time; the stale list is served',
    },
    async (stage) => {
      const rig = await failForAnHour(stage);
      rig.clock.advance(TTL_MS - FAILED_AT_MS + 1);
      return rig;
    },
  ],
  'at the moment at which it expires': [
    {
      users: 'an error',
      state: 'expired',
      ageMs: LIFE_MS + 1,
      failing: ['unavailable', LIFE_MS - FAILED_AT_MS + 1],
      page: ['Users get errors: the cached list has expired.', 'errors since 06:16:40 (0 s)'],
      line: 'list: not renewed in time; the cached list is too old to be served',
    },
    async (stage) => {
      const rig = await failForAnHour(stage);
      rig.clock.skip(LIFE_MS - FAILED_AT_MS - 1_000);
      await nextLoad(rig);
      rig.clock.advance(1_001);
      await eventually(() => rig.service.list.status().nextLoadInMs > 0);
      return rig;
    },
  ],
  'after a recovery': [
    {
      users: 'the list',
      state: 'fresh',
      ageMs: 0,
      page: ['Users get the current list.', 'loads succeed again'],
      line: 'list: recovered',
    },
    async (stage) => {
      const rig = await failForAnHour(stage);
      await stage.provider.behave('healthy');
      await nextLoad(rig);
      return rig;
    },
  ],
  'after a suspension': [
    {
      users: 'the list',
      state: 'stale',
      ageMs: 2 * TTL_MS,
      page: [
        'Users get an old list.',
        'The renewal is late, and no load has failed',
        'machine was suspended',
      ],
      line: 'list: initial load succeeded',
    },
    async ({ startLoaded }) => {
      const rig = await startLoaded();
      rig.clock.skip(2 * TTL_MS);
      return rig;
    },
  ],
  'after a restart with a fresh list, while the provider hangs': [
    {
      users: 'the list',
      state: 'fresh',
      ageMs: 60_000,
      page: ['Users get the current list.'],
      line: 'list: restored the saved list; the cached list is still fresh',
    },
    (stage) => restartInAHang(stage, 60_000),
  ],
  'after a restart with a stale list, while the first load hangs': [
    {
      users: 'the list',
      state: 'stale',
      ageMs: 3 * TTL_MS,
      page: [
        'Users get an old list.',
        'This instance started with a saved list that is older than CACHE_TTL',
      ],
      line: 'list: restored the saved list; the stale list is served',
    },
    (stage) => restartInAHang(stage, 3 * TTL_MS),
  ],
  'after a restart with an expired list, while the first load hangs': [
    {
      users: 'nothing yet',
      state: 'expired',
      ageMs: LIFE_MS + TTL_MS,
      page: ['A new list is being loaded.', 'It expired at 06:16:40 (1 h ago) and is not served.'],
      line: 'list: restored the saved list; the cached list is too old to be served',
    },
    (stage) => restartInAHang(stage, LIFE_MS + TTL_MS),
  ],
  'after a restart with an expired list and a first load that failed': [
    {
      users: 'an error',
      state: 'expired',
      ageMs: LIFE_MS + TTL_MS + 60_000,
      failing: ['unavailable', 60_000],
      page: ['Users get errors: the cached list has expired.', 'errors since 07:16:40 (60 s)'],
      line: 'list: load failed: the provider fails (503); the cached list is too old to be served',
    },
    async ({ provider, startLoaded, start }) => {
      await (await startLoaded()).close();
      await provider.behave('unavailable');
      const rig = await start({ laterMs: LIFE_MS + TTL_MS });
      await eventually(() => rig.service.list.status().nextLoadInMs > 0);
      rig.clock.skip(60_000);
      return rig;
    },
  ],
  'after a restart with a stale list, and the first renewal': [
    {
      users: 'the list',
      state: 'fresh',
      ageMs: 0,
      page: ['Users get the current list.'],
      line: 'list: renewed',
    },
    async ({ startLoaded, start }) => {
      await (await startLoaded()).close();
      const rig = await start({ laterMs: 3 * TTL_MS });
      await eventually(() => rig.service.list.status().nextLoadInMs > 0);
      return rig;
    },
  ],
  'after the clock was set back by an hour during a failure': [
    {
      users: 'the list',
      state: 'fresh',
      ageMs: FAILED_AT_MS,
      failing: ['unavailable', 0],
      page: ['Users get the current list, but it cannot be renewed.'],
      line: 'list: load failed: the provider fails (503); the cached list is still fresh',
    },
    async ({ provider, start }) => {
      const clock = createManualClock();
      let behindMs = 0;
      const rig = await start({
        clock: { ...clock, wallMs: () => wall(clock.wallMs() - behindMs) },
      });
      await eventually(() => rig.service.list.status().nextLoadInMs > 0);
      await provider.behave('unavailable');
      await nextLoad(rig);
      behindMs = TTL_MS;
      return rig;
    },
  ],
};

test.each(Object.entries(SITUATIONS))(
  '%s, all that operators see agrees',
  async (_what, [facts, create]) => {
    const provider = await emulate();
    const env = {
      CACHE_SNAPSHOT_FILE: join(temporaryFolder(), 'list'),
      CACHE_MAX_STALE: '5h',
    };
    const rig = await create({
      provider,
      start: ({ laterMs = 0, clock } = {}) =>
        startRig({ env, provider, startedLaterByMs: laterMs, ...(clock && { clock }) }),
      startLoaded: () => startLoadedRig({ env, provider }),
    });
    const nowMs = rig.clock.wallMs();
    const get = async (path: string) =>
      (await supertest(rig.managementUrl).get(path).expect(200)).text;
    const page = await get('/');
    const health = await get('/healthz');
    const metrics = await get('/metrics');
    const line = rig.messages().findLast((message) => message.startsWith('list: ')) ?? 'none';
    const ready = (await supertest(rig.url).get('/readyz')).status;
    const { state, ageMs, failing, users } = facts;
    const count = ageMs === undefined ? 0 : BANKS.length;

    // The page.
    const text = page
      .replace(/<template[^]*?<\/template\s*>/, '')
      .replaceAll(/<[^>]*>|[\s\u00A0]+/g, ' ');
    const said = text.replaceAll(/ +/g, ' ').replaceAll(/\( | \)/g, (bracket) => bracket.trim());
    for (const sentence of facts.page) expect(said).toContain(sentence);
    expect(said).toContain(`Users get ${USERS[users]}`);
    expect(said.includes('Loads failing for')).toBe(failing !== undefined);
    // Times but those of the next load.
    const [past = ''] = page.split(/<dt>Next /);
    for (const [, time = ''] of past.matchAll(/datetime="([^"]*)"/g))
      expect(Date.parse(time)).toBeLessThanOrEqual(nowMs);

    // /healthz and /readyz.
    const isWell = state === 'fresh' && !failing;
    const { status, list } = JSON.parse(health);
    expect([status, list.state, list.count]).toEqual([isWell ? 'pass' : 'warn', state, count]);
    expect(list.ageSeconds).toBe(ageMs === undefined ? null : Math.round(ageMs / 1_000));
    expect(list.failingSince && nowMs - Date.parse(list.failingSince)).toBe(failing?.[1] ?? null);
    expect(failing === undefined || list.lastFailure === failing[0]).toBe(true);
    for (const [time] of health.matchAll(/\d{4}-[^"]*Z/g))
      expect(Date.parse(time)).toBeLessThanOrEqual(nowMs);
    expect(ready).toBe(users === 'the list' ? 200 : 503);

    // The metrics.
    expect(metrics).toContain(`banks_list_state{state="${state}"} 1\n`);
    expect(metrics).toContain(`banks_list_entries ${count}\n`);
    expect(/^banks_list_age_seconds (\S+)/m.exec(metrics)?.[1]).toBe(
      ageMs === undefined ? undefined : String(ageMs / 1_000),
    );
    expect(/^banks_refresh_failing\{kind="(\w+)"\} 1$/m.exec(metrics)?.[1]).toBe(failing?.[0]);
    for (const [, time] of metrics.matchAll(/^banks_\w+_timestamp_seconds (\S+)/gm))
      expect(Number(time)).toBeLessThanOrEqual(nowMs / 1_000);

    // The log, and a user. A request may begin a load, so it comes last.
    expect(line.slice(0, facts.line.length)).toBe(facts.line);
    const answer = supertest(rig.url).get('/banks').timeout(2_000);
    const outcome = await answer.then(
      ({ status: got }) => got,
      () => 'none',
    );
    expect(outcome).toBe({ 'the list': 200, 'an error': 503, 'nothing yet': 'none' }[users]);
  },
);

const USERS = {
  'the list': `${BANKS.length} banks`,
  'an error': 'errors',
  'nothing yet': 'nothing yet',
} as const;
