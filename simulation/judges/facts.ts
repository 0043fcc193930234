import type { HeldList } from '../../src/banks/cached-list.ts';
import type { LoadError, LoadErrorKind } from '../../src/banks/load-error.ts';
import type { StoreEvent, StoreName } from '../../src/sharing/list-store.ts';
import type { Plan } from '../events.ts';
import { PROMISES, type Promised } from '../promises.ts';
import type { Call, Delivery, ProviderWorld } from '../provider.ts';
import type { RedisWorld } from '../redis.ts';
import type { Life, Replica } from '../replica.ts';
import type { World } from '../world.ts';

// What the judges know in common: the truth of the provider's side, and what each replica was seen to do.

/** A refresh or a first request that waits for its answer. */
export interface Waiting {
  readonly sinceMs: number;
  /** Others that may go first: each has a load of its own. */
  others: number;
}

/** What is done in a second, and is counted. */
export const NOTHING = { commands: 0, timers: 0, calls: 0, refreshes: 0, 'stale lists': 0 };

/** What is known of one life of a replica. Times are of the simulated clock unless they say otherwise. */
export class Facts {
  held: HeldList | undefined;
  /** What the provider sent for it; undefined where a store holds what it never sent. */
  origin: Delivery | undefined;
  heldAtMs = -Infinity;
  isOwn = false;
  /** Its times are those with which a replica saved it. */
  isGenuine = true;
  /** What it held before, since an operator accepted a list or an earlier one came back. */
  memory: readonly Remembered[] = [];
  /** What it last wrote to Redis. */
  saved: Delivery | undefined;
  /** What its own last load brought. */
  renewal: Delivery | undefined;

  /** Failed loads in a row. */
  attempts = 0;
  error: LoadError | undefined;
  failedAtMs = -Infinity;
  /** Wall-clock milliseconds of the first failure. */
  failingSinceMs = -Infinity;
  /** No load before, unless an operator asks. */
  retryAtMs = -Infinity;
  /** When the next load was said to come. */
  dueAtMs = -Infinity;

  call: Call | undefined;
  tokenCall: Call | undefined;
  /** It is made in this replica's turn. */
  callHasLease = false;
  /** What came for it. */
  delivery: Delivery | undefined;
  wasUnauthorized = false;
  /** Kinds of failure that the call under way, and the token request, may end with. */
  readonly excuses = { call: new Set<LoadErrorKind>(), token: new Set<LoadErrorKind>() };
  /** `Retry-After` of the answers to them. */
  readonly retryAfterMs: { call?: number; token?: number } = {};
  /** Since when it waits for its turn, and how long it may. */
  waiting: { readonly sinceMs: number; readonly patienceMs: number } | undefined;

  readonly refreshes = new Set<Waiting>();
  readonly arrivals = new Set<Waiting>();
  refreshedAtMs = -Infinity;
  /** When a load was last seen to go on. */
  progressAtMs: number;
  unwellSinceMs: number | undefined;
  /** What it did in the present second. */
  readonly done = { second: -1, ...NOTHING };

  /** The token that was last sent. */
  token = '';
  wasRejected = false;
  /** The token endpoint asked to be left alone until then. */
  retryTokenAtMs = -Infinity;
  /** Requests since the last one that brought a token. */
  tokenFailures = 0;
  /** At this moment a token was sent that is soon over, so that a new one is to be asked for. */
  tokenDueAtMs: number | undefined;

  /** What was last said of each store. */
  readonly last = new Map<StoreName, StoreEvent['type']>();
  /** A list in Redis was refused, which the list of another replica may be. */
  refusedAtMs = -Infinity;
  /** Told since the last failure, but for those of writes. */
  recoveries = 0;
  /** Or had a list that was refused. */
  diskFailed = false;
  /** When the disk was last slow or failing. */
  diskTroubledAtMs = -Infinity;
  /** The longest time that it has taken for one operation. */
  slowestMs = 0;
  disconnectedSinceMs: number | undefined;
  connectedSinceMs: number | undefined;
  /** A connection that had been well was closed then. */
  cutAtMs: number | undefined;

  constructor(nowMs: number) {
    this.progressAtMs = nowMs;
  }
}

/** A list that a replica saved, as Redis has it. */
export interface SharedList {
  readonly bytes: Buffer;
  readonly writer: Life;
  readonly origin: Delivery;
  readonly acceptedAtMs: number;
  readonly writtenAtMs: number;
}

/** A list that a replica held, and until when. */
export interface Remembered {
  readonly text: string;
  readonly untilMs: number;
}

export const SECOND = 1_000;
/** All encodings of a list, made one after the other. */
export const ENCODING_MS = 620;
/** Of src/sharing/redis-connection.ts: the longest time for one operation. */
export const STORE_MS = 500;
/** Two lists may change places if they were sent so close together, and ages may differ by it. */
export const TOLERANCE_MS = 1_002;
/** After any fault of Redis every replica has found out, and has a new connection. */
export const RECONNECT_MS = 15 * SECOND;

export type Court = ReturnType<typeof createCourt>;

export interface Surroundings {
  readonly provider: ProviderWorld;
  readonly redis: RedisWorld;
  readonly replicas: readonly Replica[];
}

export const createCourt = (world: World, { setup }: Plan, surroundings: Surroundings) => {
  const { redis } = surroundings;
  const origins = new Map<string, Delivery>();
  let violation: string | undefined;
  const broken = (promised: Promised, details: string): void => {
    violation ??= `${PROMISES[promised]}\n    (${details})`;
  };
  const expect = (isKept: boolean, promised: Promised, details: string | (() => string)): void => {
    if (!isKept) broken(promised, typeof details === 'string' ? details : details());
  };
  const longestTtlMs = Math.max(setup.ttlMs, setup.otherTtlMs);
  const { timeoutMs } = setup;

  const court = {
    ...surroundings,
    setup,
    world,
    nowMs: world.nowMs,
    news: world.news,
    /** The first promise that was broken, and how. */
    violation: () => violation,
    broken,
    expect,
    /** {@link expect} for one promise. */
    expectOf:
      (promised: Promised) =>
      (isKept: boolean, details: string | (() => string)): void =>
        expect(isKept, promised, details),
    ttlOf: ({ replica }: Life) => replica.config.cache.ttlMs,
    longestTtlMs,
    /** The longest back-off, a load that was under way, turn taking, its own load and time-outs of the store. */
    recoveryMs: Math.min(longestTtlMs, 60 * SECOND) + 4 * timeoutMs + 4 * STORE_MS + 2 * ENCODING_MS,
    /** What the provider sent, by the times and the text that it was saved with. */
    origins: {
      add: (list: HeldList, delivery: Delivery) =>
        void origins.set(`${list.receivedAtMs} ${textOf(list)}`, delivery),
      find: (receivedAtMs: number, text: string) => origins.get(`${receivedAtMs} ${text}`),
      latest: (text: string): Delivery | undefined =>
        [...origins.values()]
          .filter(({ version }) => version.published === text)
          .toSorted((one, other) => other.deliveredAtMs - one.deliveredAtMs)[0],
    },
    /** The wall clocks of all replicas have shown the same since; Infinity while they do not. */
    sameClocksSinceMs: -Infinity,
    /** The most by which they have ever differed. */
    wallSpreadMs: 0,
    /** Whether no list is left whose times were written while clocks differed, or by somebody else. */
    areTimesTrue: (): boolean =>
      world.nowMs() - court.sameClocksSinceMs > 2 * longestTtlMs &&
      world.nowMs() - redis.forgedAtMs() > 3_600 * SECOND + 2 * longestTtlMs,
    sharedList: undefined as SharedList | undefined,
  };
  return court;
};

export const textOf = (list: HeldList): string => list.json.toString();

export const isOpen = (call: Call | undefined): boolean =>
  call !== undefined && call.endedAtMs === undefined && !call.signal.aborted;
