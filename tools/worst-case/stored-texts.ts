import { createHash } from 'node:crypto';
import { monotonic, storeTime, systemClock } from '../../src/clock.ts';
import { createEnvelope } from '../../src/sharing/envelope.ts';
import { createStoreReport } from '../../src/sharing/store-report.ts';
import { deniedTo, replyCodeOf } from '../../src/sharing/redis-connection.ts';
import { createRedisStore } from '../../src/sharing/redis-store.ts';
import { COMPARED_BYTES, type RedisClient } from '../../src/sharing/redis-client.ts';
import { createSigning } from '../../src/sharing/signing.ts';
import { LISTS, SHORT_ENTRIES } from './provider-texts.ts';
import { NESTED, repeat, SHAPES, startingWith, type Shape } from './shapes.ts';
import { listOf, objectOf, ignoringRejections, type TextPlace } from './text-place.ts';

// What a snapshot file and Redis hold: written by somebody who can write there, with a correct
// checksum.

const PROVENANCE = 'these-settings';
const NOW_MS = Date.UTC(2026, 0, 2);
const MOMENT = { storeMs: NOW_MS, nowMs: monotonic(1e9) };
const TTL_MS = 3_600_000;
const signing = createSigning(undefined);
const envelope = createEnvelope({
  provenance: PROVENANCE,
  contract: {
    fields: ['code', 'name'].map((name) => ({ name, from: name })),
    requiredFields: [],
    maxBytes: 5_242_880,
  },
  signing,
  ttlMs: TTL_MS,
});
/** As the service does with a file, and with what Redis holds. */
const open = ignoringRejections((text: string) => envelope.open(Buffer.from(text), MOMENT));

const headerOf = (list: string): string =>
  JSON.stringify({
    format: 'banks-bff/list',
    version: 1,
    provenance: PROVENANCE,
    checksum: createHash('sha256').update(list).digest('base64url'),
  });
const listWith = (banks: string): string =>
  `{"receivedAtMs":${NOW_MS},"changedAtMs":${NOW_MS},"banks":${banks}}`;
const saved = (banks: string, metadata: string): string =>
  `${headerOf(listWith(banks))}\n${listWith(banks)}\n${metadata}\n`;
const BANKS = '[{"code":"1","name":"A"}]';

/** A line as this service writes it, up to a member of it. */
const METADATA_START = `"id":"a","version":{"series":"r","number":7,"listId":"a"},"savedAtMs":${NOW_MS},"ageMs":1,"isAgeUnknown":false,"hasNextPage":false`;
const EARLIER =
  '{"content":"aaaaaaaaaaaaaaaaaaaaaa","count":500,"firstAgeMs":1,"lastAgeMs":1,"filled":';
const wrap = (start: string, shape: Shape, end: string): Shape => ({
  name: `${start.slice(-12)} ${shape.name}`,
  text: (length) => start + shape.text(Math.max(2, length - start.length - end.length)) + end,
});
/** Values of JSON that are long to parse. */
const VALUES: readonly Shape[] = [
  listOf(() => '{}', '{}'),
  listOf(() => '[]', '[]'),
  listOf(() => '0', 'numbers'),
  listOf(() => '-1.5e-300', 'long numbers'),
  listOf(() => '""', 'empty texts'),
  listOf(() => '"\\u0041"', 'escapes'),
  NESTED,
  objectOf((index) => `"${index}":0`, 'names'),
  objectOf((index) => `"${index}":[]`, 'names of lists'),
  objectOf(() => '"a":0', 'a name again and again'),
];
/** Fields as a service without BANK_FIELDS remembers them. */
const FILLED = objectOf((index) => `"field${index}":[1000000,0,0,0,0]`, 'fields');
const METADATA: readonly Shape[] = [
  ...VALUES,
  ...['decisions', 'memory', 'other', 'id'].flatMap((name) =>
    VALUES.map((value) => wrap(`{${METADATA_START},"${name}":`, value, '}')),
  ),
  wrap(
    `{${METADATA_START},"decisions":[],"memory":`,
    listOf(() => `${EARLIER}{}}`, 'earlier lists'),
    '}',
  ),
  wrap(
    `{${METADATA_START},"decisions":[],"memory":[${EARLIER}`,
    objectOf((index) => `"${index}":[1]`, 'fields'),
    '}]}',
  ),
];
/** A list with many fields has the longest metadata. */
const PLAIN_METADATA = wrap(
  `{${METADATA_START},"decisions":[],"memory":[${EARLIER}`,
  FILLED,
  '}]}',
);

/** What Redis holds, given to the service by a client that has no server. */
const redisWith = (
  values: (text: string) => readonly (string | undefined)[],
): ((text: string) => () => Promise<unknown>) => {
  let held: readonly (Buffer | undefined)[] = [];
  let tell = (_message: string): void => undefined;
  const client: RedisClient = {
    connect: () => Promise.resolve(),
    destroy: () => undefined,
    read: () => Promise.resolve({ storeMs: storeTime(NOW_MS), values: held }),
    compareAndSet: () => Promise.resolve(true),
    publish: () => Promise.resolve(),
    subscribe: (_channel, onMessage) => Promise.resolve(void (tell = onMessage)),
  };
  const store = createRedisStore({
    url: () => Promise.resolve('redis://127.0.0.1'),
    envelope,
    signing,
    listLifeMs: TTL_MS,
    longestLeaseMs: TTL_MS,
    clock: systemClock,
    ioClock: systemClock,
    random: Math.random,
    report: createStoreReport('CACHE_REDIS_URL', () => undefined),
    loadClient: () => Promise.resolve(() => client),
  });
  store.open(() => undefined);
  return (text) => {
    held = [];
    const given = values(text).map(
      (value) => value && Buffer.from(value).subarray(0, COMPARED_BYTES),
    );
    return () => {
      held = given.map((value) => value || undefined);
      tell(text);
      return store.look();
    };
  };
};

const LEASE = `"id":"a","owner":"b","heldUntilMs":${NOW_MS + 1_000},"isLoading":true`;
const LEASES: readonly Shape[] = [
  ...VALUES,
  ...VALUES.map((value) => wrap(`{${LEASE},"failure":`, value, '}')),
];

export const STORED_PLACES: readonly TextPlace[] = [
  {
    name: 'a saved list: all of it',
    longest: 400_000,
    shapes: SHAPES,
    reader: open,
  },
  {
    name: 'a saved list: its first line',
    longest: 1_024,
    plain: SHORT_ENTRIES,
    shapes: [...VALUES, ...SHAPES],
    reader: (text) => open(`${text}\n${listWith(BANKS)}\n{}\n`),
  },
  {
    name: 'a saved list: the banks',
    longest: 400_000,
    plain: SHORT_ENTRIES,
    shapes: [...LISTS, ...SHAPES],
    reader: (text) => open(saved(text, '{}')),
  },
  {
    name: 'a saved list: its metadata',
    longest: 64_000,
    plain: PLAIN_METADATA,
    shapes: [...METADATA, ...SHAPES],
    reader: (text) => open(saved(BANKS, text)),
  },
  {
    name: 'Redis: the head',
    longest: COMPARED_BYTES,
    shapes: [...SHAPES, startingWith('a:', repeat('1'))],
    reader: redisWith((text) => [text, undefined]),
  },
  {
    name: 'Redis: the lease',
    longest: 1_024,
    plain: SHORT_ENTRIES,
    shapes: [...LEASES, ...SHAPES],
    reader: redisWith((text) => [undefined, text]),
  },
  {
    name: 'Redis: a message',
    longest: 64_000,
    shapes: SHAPES,
    reader: redisWith(() => [undefined, undefined]),
  },
  {
    name: 'Redis: an error',
    longest: 64_000,
    shapes: [...SHAPES, ...["'", "'a", 'A', "'|command "].map((unit) => repeat(unit))],
    reader: (text) => {
      const error = new Error(text);
      return () => [replyCodeOf(error), deniedTo(error)];
    },
  },
];
