import { describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { parseConfig } from '../../src/config/config.ts';
import type { CachedList } from '../../src/banks/cached-list.ts';
import { readList } from '../../src/banks/reading/list-reader.ts';
import { createEnvelope } from '../../src/sharing/envelope.ts';
import { reasonOf } from '../../src/sharing/redis-errors.ts';
import { keysOf, loadRedis, type RedisClient } from '../../src/sharing/redis-client.ts';
import { createRedisFleet } from '../../src/sharing/redis-fleet.ts';
import { createStoreReport } from '../../src/sharing/store-report.ts';
import { closeLater } from '../helpers/close-later.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { patientClock } from '../helpers/patient-clock.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { serve } from '../helpers/serve.ts';
import { waitUntil } from '../helpers/wait-until.ts';
import { createFakeRedis } from './redis.ts';

// The three scripts on a real redis-server and on the Redis of the tests, which is thereby shown to
// be like it; and the connection, on the real one.

const KEYS = keysOf('0123456789abcdef');

interface TestedRedis {
  readonly client: RedisClient;
  /** Writes text with the bytes `\xHH`; without `ms` it has no end. */
  readonly write: (key: string, value: string, ms?: number) => Promise<unknown>;
  /** Puts a list of Redis there. */
  readonly writeOtherType: (key: string) => Promise<unknown>;
  readonly makeReadOnly: () => Promise<unknown>;
  readonly fill: () => Promise<unknown>;
  /** Lets time pass until what was written for some milliseconds has ended. */
  readonly untilGone: () => Promise<unknown>;
}

const openReal = async (): Promise<TestedRedis> => {
  const redis = await redisOfTest();
  const client = await (
    await loadRedis()
  )({ url: redis.url, signal: new AbortController().signal, onError: () => undefined });
  closeLater(() => client.destroy());
  return {
    client,
    write: (key, value, ms) =>
      redis.command(`SET ${key} "${value}"${ms === undefined ? '' : ` PX ${ms}`}`),
    writeOtherType: (key) => redis.command(`LPUSH ${key} x`),
    makeReadOnly: () => redis.command('REPLICAOF 127.0.0.1 1'),
    fill: () => redis.command('CONFIG SET maxmemory 1'),
    untilGone: () =>
      waitUntil(
        'the end',
        () => client.look(KEYS, ''),
        ({ id, hold }) => id === '' && hold === '',
      ),
  };
};

const openFake = async (): Promise<TestedRedis> => {
  const clock = createManualClock();
  const redis = createFakeRedis(clock);
  const bytes = (text: string): string =>
    text.replaceAll(/\\x(..)/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  const client = await redis.connect({
    url: '',
    signal: new AbortController().signal,
    onError: () => undefined,
  });
  return {
    client,
    write: async (key, value, ms) => redis.write(key, bytes(value), ms),
    writeOtherType: async (key) => redis.write(key, undefined),
    makeReadOnly: async () => redis.suffer('read-only'),
    fill: async () => redis.suffer('full'),
    untilGone: async () => clock.advance(60_000),
  };
};

/** What operators are told. */
const failureOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'none', reasonOf);

/** An id that begins with this digit, and the envelope of a list with it. */
const idOf = (digit: number): string => `${digit}`.padEnd(22, '0');
const envelopeOf = (id: string): Buffer => Buffer.from(`banks-bff/3 ${id} mac\n{}\n[]`);
const publication = (id: string, ownId: string, unusable = '') => ({
  envelope: envelopeOf(id),
  ms: 60_000,
  ownId,
  unusable,
});

const REPLACED = { timeUs: expect.any(Number) };

const testScripts = (open: () => Promise<TestedRedis>): void => {
  test('an empty Redis has neither a list nor a hold', async () => {
    const { client } = await open();
    const seen = await client.look(KEYS, '');
    expect(seen).toMatchObject({ id: '', body: Buffer.alloc(0), hold: '', holdLeftMs: -2 });
    expect(seen.timeUs).toBeGreaterThan(Date.UTC(2025, 0) * 1_000);
  });

  test('a list is given with its id, and without its body to whoever knows it', async () => {
    const { client } = await open();
    expect(await client.publish(KEYS, publication(idOf(1), ''))).toBe('written');
    const body = envelopeOf(idOf(1));
    expect(await client.look(KEYS, '')).toMatchObject({ id: idOf(1), body });
    expect(await client.look(KEYS, idOf(2))).toMatchObject({ id: idOf(1), body });
    expect(await client.look(KEYS, idOf(1))).toMatchObject({ id: idOf(1), body: Buffer.alloc(0) });
  });

  test('a list replaces those up to the own id, and the unusable one', async () => {
    const { client } = await open();
    expect(await client.publish(KEYS, publication(idOf(2), idOf(2)))).toBe('written');
    expect(await client.publish(KEYS, publication(idOf(1), idOf(1)))).toBe('later_list');
    expect(await client.publish(KEYS, publication(idOf(9), ''))).toBe('later_list');
    expect(await client.look(KEYS, '')).toMatchObject({ id: idOf(2) });
    expect(await client.publish(KEYS, publication(idOf(2), idOf(2)))).toBe('written');
    expect(await client.publish(KEYS, publication(idOf(3), idOf(3)))).toBe('written');
    expect(await client.publish(KEYS, publication(idOf(1), idOf(1), idOf(2)))).toBe('later_list');
    expect(await client.publish(KEYS, publication(idOf(1), idOf(1), idOf(3)))).toBe('written');
    expect(await client.look(KEYS, '')).toMatchObject({ id: idOf(1) });
  });

  test('a list of any bytes can be named unusable, and is replaced', async () => {
    const { client, write } = await open();
    await write(KEYS.list, '\\x00\\xff and so on, more than thirty-four bytes of it');
    const { id, body } = await client.look(KEYS, '');
    expect(body.subarray(0, 2)).toEqual(Buffer.from([0, 255]));
    await write(KEYS.list, '\\xff'.repeat(40));
    const garbage = await client.look(KEYS, '');
    expect(garbage.id).toBe('\xff'.repeat(22));
    expect(await client.publish(KEYS, publication(idOf(1), idOf(1), id))).toBe('later_list');
    expect(await client.publish(KEYS, publication(idOf(1), idOf(1), garbage.id))).toBe('written');
  });

  test('a hold is replaced only by whoever saw it, and ends', async () => {
    const { client, untilGone } = await open();
    const before = await client.look(KEYS, '');
    const claim = await client.replaceHold(KEYS, '', 'one', 500);
    expect(claim === 'taken' ? 0 : claim.timeUs).toBeGreaterThanOrEqual(before.timeUs);
    const { hold, holdLeftMs } = await client.look(KEYS, '');
    expect(hold).toBe('one');
    expect(holdLeftMs).toBeGreaterThan(0);
    expect(holdLeftMs).toBeLessThanOrEqual(500);
    expect(await client.replaceHold(KEYS, '', 'two', 500)).toBe('taken');
    expect(await client.replaceHold(KEYS, 'on', 'two', 500)).toBe('taken');
    expect(await client.look(KEYS, '')).toMatchObject({ hold: 'one' });
    expect(await client.replaceHold(KEYS, 'one', 'two', 1)).toEqual(REPLACED);
    await untilGone();
    expect(await client.replaceHold(KEYS, 'two', 'three', 1)).toBe('taken');
    expect(await client.replaceHold(KEYS, '', 'three', 0.2)).toEqual(REPLACED);
    await untilGone();
  });

  test('a hold of any bytes, without an end, can be replaced by whoever saw its beginning', async () => {
    const { client, write } = await open();
    await write(KEYS.hold, `\\xff\\x00${'x'.repeat(300)}`);
    const { hold, holdLeftMs } = await client.look(KEYS, '');
    expect(hold).toBe(`\xff\0${'x'.repeat(254)}`);
    expect(holdLeftMs).toBe(-1);
    expect(await client.replaceHold(KEYS, hold, 'one', 60_000)).toEqual(REPLACED);
    expect(await client.look(KEYS, '')).toMatchObject({ hold: 'one' });
  });

  test('a key of another type fails each of the three', async () => {
    const { client, writeOtherType } = await open();
    const reason = /^has something else under the names .* \(WRONGTYPE\)$/;
    await writeOtherType(KEYS.list);
    expect(await failureOf(client.look(KEYS, ''))).toMatch(reason);
    expect(await failureOf(client.publish(KEYS, publication(idOf(1), '')))).toMatch(reason);
    await writeOtherType(KEYS.hold);
    expect(await failureOf(client.replaceHold(KEYS, '', 'one', 60_000))).toMatch(reason);
  });

  test.each([
    ['is read-only (READONLY)', 'makeReadOnly'],
    ['is full (OOM)', 'fill'],
  ] as const)('one that %s can be read', async (reason, make) => {
    const redis = await open();
    const { client } = redis;
    await redis.write(KEYS.list, envelopeOf(idOf(2)).toString().replaceAll('\n', '\\x0a'));
    await redis[make]();
    expect(await client.look(KEYS, '')).toMatchObject({ id: idOf(2) });
    expect(await failureOf(client.replaceHold(KEYS, '', 'one', 60_000))).toBe(reason);
    expect(await failureOf(client.publish(KEYS, publication(idOf(3), idOf(3))))).toBe(reason);
    // What would not be written anyway is no fault.
    expect(await client.replaceHold(KEYS, 'another', 'one', 60_000)).toBe('taken');
    expect(await client.publish(KEYS, publication(idOf(1), idOf(1)))).toBe('later_list');
  });
};

describe('the scripts on the Redis of the tests', () => {
  testScripts(openFake);
});
describeWithRedis('the scripts on a real Redis', () => {
  testScripts(openReal);
});

/** What a replica does with the Redis at the address that `readUrl` gives. */
const openFleet = async (readUrl: () => string) => {
  const config = parseConfig({
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: 'http://127.0.0.1:1',
    PROVIDER_ACCESS_TOKEN: 'token-of-a-test',
    BANK_FIELDS: 'code',
  });
  const clock = createManualClock();
  const envelope = createEnvelope({
    provider: config.provider,
    banks: config.banks,
    policy: config.cache,
    clock,
    readKey: undefined,
  });
  const reports: string[] = [];
  const fleet = createRedisFleet({
    envelope,
    policy: config.cache,
    clock,
    ioClock: patientClock,
    readUrl: async () => readUrl(),
    report: createStoreReport('CACHE_REDIS_URL', clock, (event) => {
      reports.push(event.type === 'store-failed' ? event.reason : event.type);
    }),
  });
  closeLater(() => fleet.close());
  const content = readList(Buffer.from('[{"code":"1"}]'), config.banks);
  const identity = { encoding: 'identity', body: content.json, etag: '"1"' } as const;
  const list: CachedList = {
    ...content,
    id: `${1_000 * Date.UTC(2026, 0)}`.padEnd(22, '0'),
    askedAtMs: clock.monotonicMs(),
    changedAtMs: clock.wallMs(),
    hasNextPage: false,
    representations: {
      identity,
      gzip: { ...identity, encoding: 'gzip' },
      br: { ...identity, encoding: 'br' },
    },
    marks: { sinceMs: clock.monotonicMs(), count: 1, shares: new Map() },
    known: [],
  };
  /** One look, one claim and one publication. */
  const useAll = async () => ({
    up: (await fleet.look('')).up,
    // As no hold: the next one finds it unchanged.
    holds: await fleet.replaceHold('', '', 1),
    publishes: await fleet.publish(list, list.id, ''),
  });
  return { fleet, reports, useAll };
};

const NOTHING_WORKS = { up: false, holds: 'no_redis', publishes: 'no_redis' };
const ALL_WORKS = { up: true, holds: REPLACED, publishes: 'written' };

describeWithRedis('a replica and a real Redis', () => {
  test('need no other rights than those that are documented, and each of them', async () => {
    const redis = await redisOfTest();
    const text = readFileSync('docs/deployment.md', 'utf8');
    const rights = /`(~banks-bff:\* [^`]+)`/.exec(text)?.[1] ?? '';
    const allow = (rules: string) => redis.command(`ACL SETUSER replica reset on >secret ${rules}`);
    const url = redis.url.replace('//', '//replica:secret@');
    await allow(rights);
    expect(await (await openFleet(() => url)).useAll()).toEqual(ALL_WORKS);
    for (const missing of ['eval', 'time', 'getrange', 'pttl', 'set']) {
      await allow(rights.replace(` +${missing}`, ''));
      const { reports, useAll } = await openFleet(() => url);
      expect(await useAll()).not.toEqual(ALL_WORKS);
      expect(reports[0]).toMatch(/^does not let this user run .* \(NOPERM\)/);
    }
    await allow(rights.replace('banks-bff', 'other'));
    const { reports, useAll } = await openFleet(() => url);
    expect(await useAll()).toEqual(NOTHING_WORKS);
    expect(reports).toEqual([expect.stringMatching(/\(NOPERM\)/)]);
  });

  test('report a wrong password once, and continue once it is right', async () => {
    const redis = await redisOfTest('--requirepass', 'right');
    let password = 'wrong';
    const { useAll, reports } = await openFleet(() => redis.url.replace('//', `//:${password}@`));
    expect(await useAll()).toEqual(NOTHING_WORKS);
    expect(await useAll()).toEqual(NOTHING_WORKS);
    expect(reports).toEqual([expect.stringMatching(/^refuses the user or the password/)]);
    password = 'right';
    expect(await useAll()).toEqual(ALL_WORKS);
    expect(reports).toEqual([expect.any(String), 'store-recovered']);
    password = 'only for the next connection';
    expect(await useAll()).toEqual(ALL_WORKS);
  });

  test('say what to raise when it has no connection left', async () => {
    const redis = await redisOfTest('--maxclients', '1');
    const first = await openFleet(() => redis.url);
    expect(await first.useAll()).toEqual(ALL_WORKS);
    const { useAll, reports } = await openFleet(() => redis.url);
    expect(await useAll()).toEqual(NOTHING_WORKS);
    expect(reports).toEqual([expect.stringMatching(/raise its maxclients \(MAXCLIENTS\)/)]);
  });

  test.each([
    ['does not answer', 'stall', 'resume', /^does not answer in time/],
    ['is killed', 'kill', 'revive', /\((?:connection lost|ECONNREFUSED|ECONNRESET)\)/],
  ] as const)(
    'part when it %s, and meet at the next look after that',
    async (_what, begin, end, reason) => {
      const redis = await redisOfTest();
      const { fleet, useAll, reports } = await openFleet(() => redis.url);
      expect(await useAll()).toEqual(ALL_WORKS);
      await redis[begin]();
      // The first look ends on the connection that there was, the second while it connects.
      expect(await fleet.look('')).toMatchObject({ up: false });
      expect(await fleet.look('')).toMatchObject({ up: false });
      expect(reports).toEqual([expect.stringMatching(reason)]);
      await redis[end]();
      expect(await useAll()).toEqual(ALL_WORKS);
      expect(reports.at(-1)).toBe('store-recovered');
    },
  );
});

describe('a server that accepts connections and never answers', () => {
  test('gets one connection at a time, each ended after a second', async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      socket.on('close', () => sockets.delete(socket)).resume();
    });
    const url = `redis://127.0.0.1:${await serve(server)}`;
    const { fleet, reports } = await openFleet(() => url);
    for (let count = 0; count < 3; count += 1) {
      const connected = once(server, 'connection');
      const looking = fleet.look('');
      const [socket]: Socket[] = await connected;
      expect(await looking).toMatchObject({ up: false });
      await waitUntil('the end of the connection', () => socket?.closed, Boolean);
      expect(sockets.size).toBe(0);
    }
    expect(reports).toEqual([expect.stringMatching(/^does not answer in time/)]);
  });
});
