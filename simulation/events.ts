import * as fc from 'fast-check';
import { ANSWERS, GRANTS, type AnswerName, type GrantName } from './answers.ts';
import type { Published } from './bank-versions.ts';
import { LIST_CHANGES, type ListChange } from './provider.ts';
import { REDIS_FAULTS, REDIS_ONCE } from './redis.ts';

// What happens to a fleet, as a short list that a person can read: fast-check makes it up and shrinks it.

/** Moments that are worth hitting, by the beginning of what happens then. */
const MOMENTS = [
  'provider is asked',
  'provider answers',
  'token endpoint is asked',
  'redis gets setIfAbsent',
  'redis answers setIfAbsent',
  'redis gets set',
  'redis answers read',
  'redis gets publish',
  'redis gets deleteIfEqual',
  'a message arrives',
  'compressed',
  'the disk writes',
] as const;
/** What stays wrong for good when everything else is healed. */
const REMAINS = [
  'nothing',
  'nothing',
  'a lease of nobody',
  'hangs on writes',
  'hangs on reads',
  'loses replies',
  'loses messages',
  'refuses connections',
] as const;

export type Event = Plan['events'][number];
export type Plan = ReturnType<typeof plan> extends fc.Arbitrary<infer P> ? P : never;
export type Setup = Plan['setup'];

const SECOND = 1_000;
const HOUR = 3_600_000;

/** Durations from some milliseconds on: as many in each power of ten. */
const lasting = (longestMs: number): fc.Arbitrary<number> =>
  fc.nat({ max: 60 }).map((step) => Math.round(20 * (longestMs / 20) ** (step / 60)));

const episode = lasting(HOUR / 2);
const short = lasting(2 * 60 * SECOND);

/** What can happen: how often, and with what. */
const ACTIONS = {
  refresh: {
    weight: 4,
    having: {
      accept: fc.constantFrom<('shrunk' | 'drifted')[][]>([], [], ['shrunk'], ['shrunk', 'drifted']),
      times: fc.constantFrom(1, 1, 1, 2, 3),
    },
  },
  request: { weight: 2, having: { times: fc.constantFrom(1, 5) } },
  kill: { weight: 2, having: { downMs: lasting(HOUR / 2) } },
  stop: { weight: 2, having: { downMs: lasting(HOUR / 2) } },
  'wall clock': {
    weight: 1,
    // By 0: it is set right.
    having: { byMs: fc.constantFrom(-HOUR, HOUR, -400, 700, -40 * SECOND, 90 * SECOND, 0, 0, 0, 0) },
  },
  'timers late': { weight: 1, having: { ms: lasting(3 * SECOND), forMs: short } },
  disk: { weight: 1, having: { fails: fc.boolean(), slowMs: lasting(8 * SECOND), forMs: episode } },
  provider: {
    weight: 4,
    having: {
      answer: fc.constantFrom(...(Object.keys(ANSWERS) as AnswerName[])),
      retryAfter: fc.constantFrom(undefined, undefined, '3', '120', '20000'),
      forMs: episode,
    },
  },
  'provider slow': {
    weight: 3,
    having: {
      ms: fc.constantFrom(300, 1_500, 1_900, 2_100, 3_000, 4_900, 5_200, 8_000),
      isDeaf: fc.boolean(),
      forMs: episode,
    },
  },
  list: { weight: 6, having: { change: fc.constantFrom(...(Object.keys(LIST_CHANGES) as ListChange[])) } },
  'token endpoint': {
    weight: 4,
    having: {
      grant: fc.constantFrom<GrantName[]>(
        ...(Object.keys(GRANTS) as GrantName[]),
        'rate-limited',
        'rate-limited',
        'server-error',
        'same-token',
      ),
      forMs: episode,
    },
  },
  'tokens revoked': { weight: 1, having: {} },
  redis: { weight: 4, having: { fault: fc.constantFrom(...REDIS_FAULTS), forMs: short } },
  'redis slow': { weight: 1, having: { ms: lasting(2 * SECOND), forMs: short } },
  'redis once': {
    weight: 2,
    having: { what: fc.constantFrom(...(Object.keys(REDIS_ONCE) as (keyof typeof REDIS_ONCE)[])) },
  },
};
type Made<T> = { readonly [K in keyof T]: T[K] extends fc.Arbitrary<infer V> ? V : never };
export type Action = {
  [T in keyof typeof ACTIONS]: { readonly type: T } & Made<(typeof ACTIONS)[T]['having']>;
}[keyof typeof ACTIONS];

const anyAction = fc.oneof(
  ...Object.entries(ACTIONS).map(([type, { weight, having }]) => ({
    weight,
    arbitrary: fc.record({ type: fc.constant(type), ...having }),
  })),
) as fc.Arbitrary<Action>;

const anyEvent = (fromMs: number, toMs: number) =>
  fc.record({
    /** From here on, milliseconds after the beginning. */
    atMs: fc.integer({ min: fromMs, max: toMs - 1 }),
    /** Not before this happens the next time. */
    when: fc.option(fc.constantFrom(...MOMENTS), { nil: undefined, freq: 3 }),
    plusMs: fc.constantFrom(0, 0, 1, 3, 10, 60, 200, 400, 1_000, 4_000),
    /** The replica, counted from 0. */
    who: fc.nat({ max: 4 }),
    action: anyAction,
  });

/**
 * A kind of run. `day`: at least one event in each hour of a day. `rush`: up to 60 events in a quarter of an hour.
 * `liveness`: up to 20 in the first minutes, after which all is healed but what remains for good. `quiet`: days, or two
 * months, in which next to nothing happens.
 */
export const PACES = ['day', 'rush', 'liveness', 'quiet'] as const;
export type Pace = (typeof PACES)[number];

export const plan = (replicas: number | undefined, pace: Pace) => {
  const hours = { day: 24, rush: 0.25, liveness: 0.05, quiet: 72 }[pace];
  const times = {
    day: fc.constantFrom(HOUR, HOUR / 2, 6 * HOUR),
    rush: fc.constantFrom(20 * SECOND, 60 * SECOND, HOUR),
    liveness: fc.constantFrom(20 * SECOND, 60 * SECOND, HOUR),
    // The last one is longer than the longest timer of Node.
    quiet: fc.constantFrom(HOUR, 6 * HOUR, 30 * 24 * HOUR, 30 * 24 * HOUR),
  }[pace];
  const ttls = fc
    .record({ ttlMs: times, otherTtl: fc.constantFrom(1, 1, 1, 0.5) })
    .map(({ ttlMs, otherTtl }) => ({ ttlMs, otherTtlMs: ttlMs * otherTtl }));
  const fleet = fc.record({
    seed: fc.nat(),
    replicas: replicas === undefined ? fc.integer({ min: 1, max: 5 }) : fc.constant(replicas),
    timeoutMs: fc.constantFrom(5 * SECOND, 2 * SECOND),
    /** Node's timers may fire up to 1 ms early. */
    hasEarlyTimers: fc.boolean(),
    maxStaleMs:
      hours >= 24 ? fc.constantFrom(168 * HOUR, 2 * HOUR) : fc.constantFrom(168 * HOUR, 40 * SECOND),
    remains:
      pace === 'liveness' ? fc.constantFrom(...REMAINS) : fc.constant<(typeof REMAINS)[number]>('nothing'),
    hasSnapshot: fc.boolean(),
    hasRedis: fc.constantFrom(true, pace !== 'quiet', pace !== 'quiet', false),
    usesTokens: fc.constantFrom(true, true, false),
    fields: fc.constantFrom<Published[]>('code,ispb,label:name', 'code,ispb,label:name', 'all'),
    tokenLifeMs: fc.constantFrom(undefined, HOUR, 600 * SECOND, 150 * SECOND, 60 * SECOND, 45 * SECOND),
  });
  const setup = fc.tuple(fleet, ttls).map(([made, { ttlMs, otherTtlMs }]) => ({
    ...made,
    ttlMs,
    otherTtlMs,
    hours: ttlMs > 24 * HOUR ? 62 * 24 : hours,
  }));
  const ofHour = (hour: number) =>
    fc.array(anyEvent(hour * HOUR, (hour + 1) * HOUR), { minLength: 1, maxLength: 3, size: 'max' });
  const events =
    pace === 'day'
      ? fc.tuple(...Array.from({ length: hours }, (_, hour) => ofHour(hour))).map((found) => found.flat())
      : fc.array(anyEvent(0, hours * HOUR), {
          minLength: pace === 'quiet' ? 0 : 1,
          maxLength: { rush: 60, liveness: 20, quiet: 2 }[pace],
          size: 'max',
        });
  return fc.record({ setup, events });
};

export const moment = (ms: number): string => new Date(ms).toISOString().slice(11, 23);

/** One line for each event, and what the fleet is. */
export const describe = ({ setup, events }: Plan): string[] => [
  `fleet: ${JSON.stringify(setup)}`,
  ...events.map(({ atMs, when, plusMs, who, action }) => {
    const whenever = when === undefined ? '' : ` when ${when}`;
    return `${moment(atMs)}${whenever} + ${plusMs} ms: replica ${who}: ${JSON.stringify(action)}`;
  }),
];
