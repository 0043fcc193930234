import * as fc from 'fast-check';
import { ANSWERS, GRANTS, type AnswerName, type GrantName } from './answers.ts';
import type { Published } from './bank-versions.ts';
import type { Validation } from './provider.ts';
import { REDIS_FAULTS, type RedisFault } from './redis.ts';
import type { Setup } from './replica.ts';

// What happens to a fleet, as a short list that a person can read: fast-check makes it up and shrinks it.

export type Action =
  | { readonly type: 'nothing' }
  | { readonly type: 'refresh'; readonly accept: readonly ('shrunk' | 'drifted')[]; readonly times: number }
  | { readonly type: 'request'; readonly times: number }
  | { readonly type: 'probe' }
  | { readonly type: 'kill' | 'stop'; readonly downMs: number }
  | { readonly type: 'wall clock'; readonly byMs: number }
  | { readonly type: 'timers late'; readonly ms: number; readonly forMs: number }
  | { readonly type: 'disk'; readonly fails: boolean; readonly slowMs: number; readonly forMs: number }
  | {
      readonly type: 'provider';
      readonly answer: AnswerName;
      readonly retryAfter: string | undefined;
      readonly forMs: number;
    }
  | { readonly type: 'provider slow'; readonly ms: number; readonly isDeaf: boolean; readonly forMs: number }
  | { readonly type: 'list'; readonly change: ListChange }
  | { readonly type: 'token endpoint'; readonly grant: GrantName; readonly forMs: number }
  | { readonly type: 'tokens revoked' }
  | { readonly type: 'redis'; readonly fault: RedisFault; readonly forMs: number }
  | { readonly type: 'redis slow'; readonly ms: number; readonly forMs: number }
  | { readonly type: 'redis once'; readonly what: RedisOnce };

const LIST_CHANGES = [
  'one bank renamed',
  'the usual list',
  'half of it gone',
  'two gone',
  'code as a number',
  'no name',
] as const;
export type ListChange = (typeof LIST_CHANGES)[number];

const REDIS_ONCE = ['cut', 'emptied', 'garbage', 'a list of the future', 'a lease of nobody'] as const;
export type RedisOnce = (typeof REDIS_ONCE)[number];

/** Moments that are worth hitting, by the beginning of what happens then. */
export const MOMENTS = [
  'provider is asked',
  'provider answers',
  'token endpoint is asked',
  'redis gets setIfAbsent',
  'redis answers setIfAbsent',
  'redis gets set',
  'redis answers getrange',
  'redis gets publish',
  'redis gets deleteIfEqual',
  'a message arrives',
  'compressed',
  'the disk writes',
] as const;
export type Moment = (typeof MOMENTS)[number];

export interface Event {
  /** From here on, milliseconds after the beginning. */
  readonly atMs: number;
  /** Not before this happens the next time. */
  readonly when: Moment | undefined;
  readonly plusMs: number;
  /** The replica, counted from 0. */
  readonly who: number;
  readonly action: Action;
}

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

export interface Plan {
  readonly setup: Setup & {
    readonly remains: (typeof REMAINS)[number];
    readonly seed: number;
    readonly hours: number;
    readonly validation: Validation;
    readonly tokenLifeMs: number | undefined;
  };
  readonly events: readonly Event[];
}

const SECOND = 1_000;
const HOUR = 3_600_000;

/** Durations from some milliseconds to an hour: as many in each power of ten. */
const lasting = (longestMs: number): fc.Arbitrary<number> =>
  fc.nat({ max: 60 }).map((step) => Math.round(20 * (longestMs / 20) ** (step / 60)));

const episode = lasting(HOUR);
const short = lasting(2 * 60 * SECOND);

const anyAction: fc.Arbitrary<Action> = (() => {
  const of = <T extends Action['type']>(type: T) => fc.constant(type);
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 1, arbitrary: fc.record({ type: of('nothing') }) },
    {
      weight: 4,
      arbitrary: fc.record({
        type: of('refresh'),
        accept: fc.constantFrom<('shrunk' | 'drifted')[][]>([], [], ['shrunk'], ['shrunk', 'drifted']),
        times: fc.constantFrom(1, 1, 1, 2, 3),
      }),
    },
    { weight: 2, arbitrary: fc.record({ type: of('request'), times: fc.constantFrom(1, 5) }) },
    { weight: 1, arbitrary: fc.record({ type: of('probe') }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('kill', 'stop'), downMs: lasting(HOUR / 2) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: of('wall clock'),
        byMs: fc.constantFrom(-HOUR, HOUR, -400, 700, -40 * SECOND, 90 * SECOND),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: of('timers late'), ms: lasting(3 * SECOND), forMs: short }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: of('disk'),
        fails: fc.boolean(),
        slowMs: lasting(8 * SECOND),
        forMs: episode,
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        type: of('provider'),
        answer: fc.constantFrom(...(Object.keys(ANSWERS) as AnswerName[])),
        retryAfter: fc.constantFrom(undefined, undefined, '3', '120', '20000'),
        forMs: episode,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        type: of('provider slow'),
        ms: fc.constantFrom(300, 1_500, 1_900, 2_100, 3_000, 4_900, 5_200, 8_000),
        isDeaf: fc.boolean(),
        forMs: episode,
      }),
    },
    { weight: 4, arbitrary: fc.record({ type: of('list'), change: fc.constantFrom(...LIST_CHANGES) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: of('token endpoint'),
        grant: fc.constantFrom(...(Object.keys(GRANTS) as GrantName[])),
        forMs: episode,
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: of('tokens revoked') }) },
    {
      weight: 4,
      arbitrary: fc.record({ type: of('redis'), fault: fc.constantFrom(...REDIS_FAULTS), forMs: short }),
    },
    { weight: 1, arbitrary: fc.record({ type: of('redis slow'), ms: lasting(2 * SECOND), forMs: short }) },
    { weight: 2, arbitrary: fc.record({ type: of('redis once'), what: fc.constantFrom(...REDIS_ONCE) }) },
  );
})();

const anyEvent = (fromMs: number, toMs: number): fc.Arbitrary<Event> =>
  fc.record({
    atMs: fc.integer({ min: fromMs, max: toMs - 1 }),
    when: fc.option(fc.constantFrom(...MOMENTS), { nil: undefined, freq: 3 }),
    plusMs: fc.constantFrom(0, 0, 1, 3, 10, 60, 200, 400, 1_000, 4_000),
    who: fc.nat({ max: 4 }),
    action: anyAction,
  });

/**
 * A kind of run. `day`: at least one event in each hour of a day. `rush`: up to 60 events in a quarter of an hour.
 * `liveness`: up to 20 in the first minutes, after which all is healed but what remains for good.
 */
export const PACES = ['day', 'rush', 'liveness'] as const;
export type Pace = (typeof PACES)[number];

export const plan = (replicas: number | undefined, pace: Pace): fc.Arbitrary<Plan> => {
  const isDay = pace === 'day';
  const hours = { day: 24, rush: 0.25, liveness: 0.05 }[pace];
  const setup = fc.record({
    seed: fc.nat(),
    hours: fc.constant(hours),
    replicas: replicas === undefined ? fc.integer({ min: 1, max: 5 }) : fc.constant(replicas),
    ttlMs: isDay
      ? fc.constantFrom(HOUR, HOUR / 2, 6 * HOUR)
      : fc.constantFrom(20 * SECOND, 60 * SECOND, HOUR),
    timeoutMs: fc.constantFrom(5 * SECOND, 2 * SECOND),
    maxStaleMs: isDay ? fc.constantFrom(168 * HOUR, 2 * HOUR) : fc.constantFrom(168 * HOUR, 40 * SECOND),
    remains:
      pace === 'liveness' ? fc.constantFrom(...REMAINS) : fc.constant<(typeof REMAINS)[number]>('nothing'),
    hasSnapshot: fc.boolean(),
    hasRedis: fc.constantFrom(true, true, true, false),
    usesTokens: fc.boolean(),
    tokenFormat: fc.constantFrom<Setup['tokenFormat'][]>('form', 'form', 'json'),
    fields: fc.constantFrom<Published[]>('code,ispb,name', 'code,ispb,name', 'all'),
    validation: fc.constantFrom<Validation[]>('none', 'etag', 'date', 'both', 'unsendable'),
    tokenLifeMs: fc.constantFrom(undefined, HOUR, 600 * SECOND, 45 * SECOND),
  });
  const ofHour = (hour: number): fc.Arbitrary<Event[]> =>
    fc.array(anyEvent(hour * HOUR, (hour + 1) * HOUR), { minLength: 1, maxLength: 3, size: 'max' });
  const events = isDay
    ? fc.tuple(...Array.from({ length: hours }, (_, hour) => ofHour(hour))).map((found) => found.flat())
    : fc.array(anyEvent(0, hours * HOUR), {
        minLength: 1,
        maxLength: pace === 'rush' ? 60 : 20,
        size: 'max',
      });
  return fc.record({ setup, events });
};

const time = (ms: number): string => {
  if (ms < SECOND) return `${ms} ms`;
  return ms < 120 * SECOND ? `${ms / SECOND} s` : `${Math.round(ms / 6_000) / 10} min`;
};

const moment = (ms: number): string => new Date(ms).toISOString().slice(11, 23);

const describeAction = (action: Action): string => {
  const details = Object.entries(action)
    .filter(([name, value]) => name !== 'type' && value !== undefined && value !== false)
    .map(([name, value]) => {
      if (value === true) return name;
      if (name === 'ms' || name.endsWith('Ms'))
        return `${name.replace(/Ms$/, '').replace('ms', 'by')} ${time(Number(value))}`;
      return Array.isArray(value)
        ? value.length > 0
          ? `${name} ${value.join(' and ')}`
          : ''
        : String(value);
    });
  return [action.type, ...details.filter(Boolean)].join(', ');
};

/** One line for each event, and what the fleet is. */
export const describe = ({ setup, events }: Plan): string[] => [
  `fleet: ${Object.entries(setup)
    .filter(([name]) => name !== 'seed')
    .map(([name, value]) => `${name} ${name.endsWith('Ms') ? time(Number(value ?? 0)) : value}`)
    .join(', ')}`,
  ...events
    .filter(({ action: { type } }) => type !== 'nothing')
    .map(({ atMs, when, plusMs, who, action: what }) => {
      const delay =
        when === undefined && plusMs === 0
          ? ''
          : ` ${when === undefined ? '' : `when ${when} `}+ ${plusMs} ms`;
      return `${moment(atMs)}${delay}: replica ${who}: ${describeAction(what)}`;
    }),
];
