import * as fc from 'fast-check';
import { clockErrorMs, EVENTS, SEQUENCES, type Action, type ActionKind } from './actions.ts';
import { DAY, HOUR, MINUTE, SECOND } from './durations.ts';
import { REDIS_FAULTS } from './redis.ts';

// What happens to a fleet, as a list of events that a person can read: fast-check makes it up and
// shrinks it.

/** Where a fleet keeps its list, how often, and what happens only there. */
const STORES = [
  { weight: 6, hasRedis: true, hasSnapshot: true, needs: ['redis', 'snapshot', 'both', 'any'] },
  { weight: 4, hasRedis: true, hasSnapshot: false, needs: ['redis', 'any'] },
  { weight: 4, hasRedis: false, hasSnapshot: true, needs: ['snapshot', 'any'] },
  { weight: 1, hasRedis: false, hasSnapshot: false, needs: [] },
] as const;
const FLEETS = STORES.map((stores) => ({
  ...stores,
  hasSecretFiles: false,
  needs: [...stores.needs] as readonly string[],
}));
type Stores = (typeof FLEETS)[number];

/** One of these actions, of those that mean something with these stores. */
const anyOf = (actions: Readonly<Record<string, ActionKind>>, { needs }: Stores) =>
  fc.oneof(
    ...Object.entries(actions)
      .filter(
        ([, action]) => action.needs === undefined || needs.some((need) => need === action.needs),
      )
      .map(([type, { weight, having }]) => ({
        weight,
        arbitrary: fc.record({ type: fc.constant(type), ...having }),
      })),
  ) as fc.Arbitrary<Action>;

/** Moments that are worth hitting, by the beginning of what happens then. */
const MOMENTS = [
  'provider is asked',
  'provider answers',
  'redis gets read',
  'redis answers read',
  'redis gets compareAndSet',
  'redis answers compareAndSet',
  'a message arrives',
  'compressed',
  'the disk writes',
] as const;

const anyEvent = (stores: Stores, action: fc.Arbitrary<Action>, fromMs: number, toMs: number) => {
  const moments = MOMENTS.filter((each) => stores.hasRedis || !/redis|message/.test(each));
  return fc.record({
    atMs: fc.integer({ min: fromMs, max: toMs - 1 }),
    /** Not before this happens the next time. */
    when: fc.option(fc.constantFrom(...moments), { nil: undefined, freq: 3 }),
    plusMs: fc.constantFrom(0, 0, 1, 3, 10, 60, 400, 4_000),
    /** The replica, counted from 0. */
    who: fc.nat({ max: 4 }),
    action,
  });
};

export type Event = ReturnType<typeof anyEvent> extends fc.Arbitrary<infer E> ? E : never;

/**
 * Kinds of run. `day`: at least one event in each hour of a day. `rush`: up to 40 events in six
 * minutes. `few`: one or two sequences in six minutes, one after the other, and up to one event, so
 * that next to nothing excuses what follows.
 * `liveness`: up to 20 in three minutes, after which all is healed but what remains for good.
 * `quiet`: days, or two months, in which next to nothing happens.
 */
export const PACES = ['day', 'rush', 'few', 'liveness', 'quiet'] as const;
export type Pace = (typeof PACES)[number];

const HOURS = { day: 24, rush: 0.1, few: 0.1, liveness: 0.05, quiet: 72 } satisfies Record<
  Pace,
  number
>;
/** The first is below PROVIDER_TIMEOUT, and takes much more work than the others. */
const SHORT_TTLS = [1, 4, 4, 4, 20, 20, 20, 20, 20, 60, 60, 60, 60, 3_600, 3_600, 3_600].map(
  (s) => s * SECOND,
);
/** In runs with a shorter CACHE_TTL everything happens in a third of the time. */
const USUAL_TTL_MS = 20 * SECOND;
/** The longest is longer than the longest timer of Node. */
const TTLS = {
  day: [HOUR, HOUR / 2, 6 * HOUR],
  rush: SHORT_TTLS,
  few: SHORT_TTLS,
  liveness: SHORT_TTLS,
  quiet: [HOUR, 6 * HOUR, 30 * DAY],
} satisfies Record<Pace, number[]>;

const setup = (
  pace: Pace,
  replicas: number | undefined,
  { hasRedis, hasSnapshot, hasSecretFiles }: Stores,
) =>
  fc
    .record({
      seed: fc.nat(),
      replicas:
        replicas === undefined ? fc.constantFrom(1, 2, 2, 3, 3, 4, 5) : fc.constant(replicas),
      ttlMs: fc.constantFrom(...TTLS[pace]),
      otherTtl: fc.constantFrom(1, 1, 1, 0.5),
      maxStaleMs: fc.constantFrom(7 * DAY, pace === 'day' ? 2 * HOUR : 40 * SECOND),
      timeoutMs: fc.constantFrom(...[2, 4, 4, 12].map((s) => s * SECOND)),
      hasRedis: fc.constant(hasRedis),
      hasSnapshot: fc.constant(hasSnapshot),
      hasSecretFiles: fc.constant(hasSecretFiles),
      isSigned: fc.boolean(),
      /** The list is inside an object. */
      isInside: fc.constantFrom(false, false, true),
      /**
       * Every other replica may have other BANK_FIELDS, or one other setting that lists depend on,
       * and then shares nothing.
       */
      otherFleet: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0 as const) },
        { weight: 1, arbitrary: fc.constantFrom<(1 | 2 | 3 | 4 | 5)[]>(1, 2, 3, 4, 5, 5) },
      ),
      /** Otherwise little can be told from what is served. */
      everyAnswerDiffers: fc.constantFrom(true, true, true, false),
      /** How long it takes until an operator sees that the provider's list is refused. */
      attentionMs: {
        day: fc.constantFrom(...[5, 5, 5, 20, 20, 20, 60, undefined].map((m) => m && m * MINUTE)),
        quiet: fc.constant(20 * MINUTE),
        rush: fc.constant(undefined),
        few: fc.constant(undefined),
        liveness: fc.constant(undefined),
      }[pace],
      wallErrorsMs: fc.oneof(
        fc.constant([]),
        fc.array(fc.oneof(fc.constant(0), clockErrorMs), { maxLength: 5 }),
      ),
      /** What is wrong with Redis for good. */
      remains:
        pace === 'liveness' ? fc.constantFrom(undefined, ...REDIS_FAULTS) : fc.constant(undefined),
    })
    .map(({ otherTtl, ...made }) => ({
      ...made,
      otherTtlMs: made.ttlMs * otherTtl,
      hours: made.ttlMs > DAY ? 62 * 24 : HOURS[pace] * (made.ttlMs < USUAL_TTL_MS ? 0.3 : 1),
    }));

const eventsOf = (stores: Stores, pace: Pace) => {
  const action = anyOf({ ...EVENTS, ...SEQUENCES }, stores);
  const lengthMs = HOURS[pace] * HOUR;
  const upTo = (maxLength: number) =>
    fc.array(anyEvent(stores, action, 0, lengthMs), { maxLength, size: 'max' });
  const ofHour = (hour: number) =>
    fc.array(anyEvent(stores, action, hour * HOUR, (hour + 1) * HOUR), {
      minLength: 1,
      maxLength: 3,
      size: 'max',
    });
  const sequence = (fromShare: number, toShare: number) =>
    anyEvent(stores, anyOf(SEQUENCES, stores), lengthMs * fromShare, lengthMs * toShare);
  return {
    day: fc.tuple(...Array.from({ length: HOURS.day }, (_, hour) => ofHour(hour))),
    rush: fc.tuple(upTo(40)),
    few: fc.tuple(
      fc.tuple(sequence(0, 0.3)),
      fc.array(sequence(0.6, 0.9), { maxLength: 1 }),
      upTo(1),
    ),
    liveness: fc.tuple(upTo(20)),
    quiet: fc.tuple(upTo(2)),
  }[pace].map((found: readonly Event[][]) => found.flat());
};

const planWith = (stores: Stores, pace: Pace, replicas: number | undefined) => {
  const hours = HOURS[pace];
  const events = eventsOf(stores, pace);
  return fc
    .record({ setup: setup(pace, replicas, stores), events })
    .map(({ setup: made, events: planned }) => ({
      setup: made,
      events: planned.map((event) => ({
        ...event,
        atMs: Math.round((event.atMs * made.hours) / hours),
      })),
    }));
};

export const plan = (pace: Pace, replicas?: number) =>
  fc.oneof(
    ...FLEETS.map((stores) => ({
      weight: stores.weight,
      arbitrary: planWith(stores, pace, replicas),
    })),
  );

export type Plan = ReturnType<typeof plan> extends fc.Arbitrary<infer P> ? P : never;
export type Setup = Plan['setup'];

export const moment = (ms: number): string => {
  const days = Math.floor(ms / DAY);
  return `${days > 0 ? `day ${days} ` : ''}${new Date(ms).toISOString().slice(11, 23)}`;
};

/** One line for the fleet, and one for each event. */
export const describe = ({ setup: fleet, events }: Plan): string[] => [
  `fleet: ${JSON.stringify(fleet)}`,
  ...events.map(({ atMs, when, plusMs, who, action }) => {
    const whenever = when === undefined ? '' : ` when ${when}`;
    return `${moment(atMs)}${whenever} + ${plusMs} ms: replica ${who}: ${JSON.stringify(action)}`;
  }),
];
