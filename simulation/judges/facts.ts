import type { HeldList } from '../../src/banks/cached-list.ts';
import type { LoadError, LoadErrorKind } from '../../src/banks/load-error.ts';
import type { Plan } from '../events.ts';
import { PROMISES, type Promised } from '../promises.ts';
import type { Call, Delivery, ProviderWorld, TokenCall } from '../provider.ts';
import type { RedisWorld } from '../redis.ts';
import type { Life, Replica } from '../replica.ts';
import type { Owner, World } from '../world.ts';

// What the judges know in common: the truth of the provider's side, and what each replica was seen to do.

/** A promise was broken. */
export class Violation extends Error {
  override readonly name = 'Violation';
  constructor(promised: Promised, details: string) {
    super(`${PROMISES[promised]}\n    (${details})`);
  }
}

/** A refresh or a first request that waits for its answer. */
export interface Waiting {
  readonly sinceMs: number;
  /** Others that may go first: each has a load of its own. */
  others: number;
}

/** What is known of one life of a replica. Times are of the simulated clock unless they say otherwise. */
export class Facts {
  held: HeldList | undefined;
  /** What the provider sent for it; undefined where a store holds what it never sent. */
  origin: Delivery | undefined;
  heldAtMs = -Infinity;
  isOwn = false;
  /** Its times are those with which a replica saved it. */
  isGenuine = true;
  /** What it last wrote to Redis. */
  saved: Delivery | undefined;
  /** What its own last load brought. */
  renewal: Delivery | undefined;

  failing = false;
  attempts = 0;
  error: LoadError | undefined;
  failedAtMs = -Infinity;
  /** Wall-clock milliseconds of the first failure. */
  failingSinceMs = -Infinity;
  /** No load before, unless an operator asks. */
  retryAtMs = -Infinity;

  call: Call | undefined;
  /** It is made in this replica's turn. */
  callHasLease = false;
  /** What came for it. */
  delivery: Delivery | undefined;
  /** Kinds of failure that the call under way, and the token request, may end with. */
  readonly excuses = { call: new Set<LoadErrorKind>(), token: new Set<LoadErrorKind>() };
  tokenCall: TokenCall | undefined;
  /** Since when it waits for its turn, and how long it may. */
  waiting: { readonly sinceMs: number; readonly patienceMs: number } | undefined;

  readonly refreshes = new Set<Waiting>();
  readonly arrivals = new Set<Waiting>();
  refreshedAtMs = -Infinity;
  /** When a load was last seen to go on. */
  progressAtMs: number;
  unwellSinceMs: number | undefined;

  constructor(nowMs: number) {
    this.progressAtMs = nowMs;
  }
}

/** A list that a replica saved, as Redis has it. */
export interface SharedList {
  readonly bytes: Buffer;
  readonly writer: Owner;
  readonly origin: Delivery;
  readonly acceptedAtMs: number;
  readonly writtenAtMs: number;
}

/** What a judge keeps of each life of a replica, made when it is first asked for. */
export const perLife = <T>(make: () => T): ((life: Owner) => T) => {
  const kept = new WeakMap<Owner, T>();
  return (life) => {
    let found = kept.get(life);
    if (found === undefined) kept.set(life, (found = make()));
    return found;
  };
};

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

export const createCourt = (world: World, { setup }: Plan) => {
  const all = new Map<Owner, Facts>();
  const origins = new Map<string, Delivery>();
  const texts = new WeakMap<HeldList, string>();
  let violation: Violation | undefined;
  let around:
    | { readonly provider: ProviderWorld; readonly redis: RedisWorld; readonly replicas: readonly Replica[] }
    | undefined;
  const surroundings = (): NonNullable<typeof around> => {
    if (!around) throw new Error('nothing surrounds the replicas yet');
    return around;
  };

  const broken = (promised: Promised, details: string): void => {
    violation ??= new Violation(promised, details);
  };
  const expect = (isKept: boolean, promised: Promised, details: string | (() => string)): void => {
    if (!isKept) broken(promised, typeof details === 'string' ? details : details());
  };
  const factsOf = (owner: Owner): Facts => {
    let facts = all.get(owner);
    if (!facts) all.set(owner, (facts = new Facts(world.nowMs())));
    return facts;
  };
  const textOf = (list: HeldList): string => {
    let text = texts.get(list);
    if (text === undefined) texts.set(list, (text = list.json.toString()));
    return text;
  };
  const longestTtlMs = Math.max(setup.ttlMs, setup.otherTtlMs);
  const { timeoutMs } = setup;

  const court = {
    setup,
    nowMs: () => world.nowMs(),
    happening: () => world.happening(),
    surround: (given: NonNullable<typeof around>) => void (around = given),
    provider: () => surroundings().provider,
    redis: () => surroundings().redis,
    replicas: () => surroundings().replicas,
    lifeOf: (owner: Owner): Life => {
      const life = surroundings().replicas.find((replica) => replica.life === owner)?.life;
      if (!life) throw new Error(`${owner.name} has ended`);
      return life;
    },
    violation: () => violation,
    broken,
    expect,
    /** {@link expect} for one promise. */
    expectOf:
      (promised: Promised) =>
      (isKept: boolean, details: string | (() => string)): void =>
        expect(isKept, promised, details),
    factsOf,
    all: () => all,
    textOf,
    ttlOf: ({ replica }: Life) => replica.config.cache.ttlMs,
    longestTtlMs,
    /** The longest back-off, a load that was under way, turn taking, its own load and time-outs of the store. */
    recoveryMs: Math.min(longestTtlMs, 60 * SECOND) + 4 * timeoutMs + 4 * STORE_MS + 2 * ENCODING_MS,
    /** What the provider sent, by the times and the text that it was saved with. */
    origins: {
      add: (list: HeldList, delivery: Delivery) =>
        void origins.set(`${list.receivedAtMs} ${textOf(list)}`, delivery),
      find: (receivedAtMs: number, text: string) => origins.get(`${receivedAtMs} ${text}`),
      latest: (text: string): Delivery | undefined => {
        let found: Delivery | undefined;
        for (const delivery of origins.values())
          if (delivery.version.published === text && (!found || delivery.deliveredAtMs > found.deliveredAtMs))
            found = delivery;
        return found;
      },
    },
    /** The provider has answered rightly since; Infinity while it does not. */
    healthySinceMs: 0,
    /** The wall clocks of all replicas have shown the same since; Infinity while they do not. */
    sameClocksSinceMs: -Infinity,
    /** The most by which they have ever differed. */
    wallSpreadMs: 0,
    /** Whether no list is left whose times were written while clocks differed, or by somebody else. */
    areTimesTrue: (): boolean =>
      world.nowMs() - court.sameClocksSinceMs > 2 * longestTtlMs &&
      world.nowMs() - surroundings().redis.forgedAtMs() > 3_600 * SECOND + 2 * longestTtlMs,
    sharedList: undefined as SharedList | undefined,
  };
  return court;
};

export const isOpen = (call: Call | TokenCall | undefined): boolean =>
  call !== undefined && call.endedAtMs === undefined && !call.signal.aborted;
