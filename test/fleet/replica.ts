import { setImmediate } from 'node:timers/promises';
import { createBankList } from '../../src/banks/bank-list.ts';
import { createSoleReplica } from '../../src/banks/fleet.ts';
import type { CachedList } from '../../src/banks/cached-list.ts';
import type { FreshnessPolicy } from '../../src/banks/freshness.ts';
import type { ListEvent } from '../../src/banks/list-event.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import { readList, type LoadedList } from '../../src/banks/reading/list-reader.ts';
import { withDeadline, type Clock } from '../../src/clock.ts';
import { createEnvelope } from '../../src/sharing/envelope.ts';
import { createRedisFleet } from '../../src/sharing/redis-fleet.ts';
import { createStoreReport, type StoreEvent } from '../../src/sharing/store-report.ts';
import { createManualClock, type ManualClock } from '../helpers/manual-clock.ts';
import { createFakeRedis, type FakeRedis } from './redis.ts';

// One to several replicas, as far as the list goes, with a Redis and a provider of the test's own,
// all on one clock that is moved by hand.

export const TTL_MS = 60_000;
export const MAX_STALE_MS = 600_000;
export const TIMEOUT_MS = 5_000;

const FIELDS = [{ name: 'code', from: 'code' }];
const RULES = { fields: FIELDS, requiredFields: [] };

/** What a load gives: how many banks, or why it fails. */
export type Answer = number | LoadError;

/** A list of so many banks, whose content is that of `version`. */
const loadedList = (count: number, version: number): LoadedList => {
  const banks = Array.from({ length: count }, (_, index) => ({ code: `${version}-${index}` }));
  return { ...readList(Buffer.from(JSON.stringify(banks)), RULES), hasNextPage: false };
};

/** Of the content of a list. */
export const versionOf = ({ representations }: CachedList): number =>
  Number(/"(\d+)-/.exec(representations.identity.body.toString())?.[1]);

export interface Call {
  /** By the true time. */
  readonly atMs: number;
  readonly replica: string;
  /** Of the content that was given, unless it failed. */
  readonly version: number;
}

export type Stage = ReturnType<typeof createStage>;

export const createStage = () => {
  const clock = createManualClock();
  const redis = createFakeRedis(clock);
  const calls: Call[] = [];
  let answer = (_call: Call): Answer => 10;
  let latencyMs = (): number => 0;

  const loadFor =
    (replica: string) =>
    (signal: AbortSignal): Promise<LoadedList> => {
      const call: Call = { atMs: clock.monotonicMs(), replica, version: calls.length + 1 };
      calls.push(call);
      // The provider decides when it is asked.
      const given = answer(call);
      return new Promise((resolve, reject) => {
        const give = (): void =>
          typeof given === 'number' ? resolve(loadedList(given, call.version)) : reject(given);
        const ms = latencyMs();
        if (ms === 0) give();
        else clock.after(ms, give);
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    };

  return {
    clock,
    redis,
    calls,
    listOf: loadedList,
    /** What the provider answers from now on, and after how long. */
    answer: (next: Answer | ((call: Call) => Answer), ms: number | (() => number) = 0): void => {
      answer = typeof next === 'function' ? next : () => next;
      latencyMs = typeof ms === 'function' ? ms : () => ms;
    },
    replica: (options: Partial<ReplicaOptions> = {}): Replica =>
      createReplica({ name: 'a', clock, redis, random: () => 0.5, loadFor, ...options }),
    /** Lets this much time pass, from one timer to the next. */
    pass: (ms: number): Promise<void> => pass(clock, ms),
  };
};

/** Lets promises settle at the time of each timer. */
export const pass = async (clock: ManualClock, ms: number): Promise<void> => {
  const untilMs = clock.monotonicMs() + ms;
  await setImmediate();
  for (;;) {
    const [waitMs = Infinity] = clock.waits();
    if (clock.monotonicMs() + waitMs > untilMs) break;
    clock.next();
    await setImmediate();
  }
  clock.advance(untilMs - clock.monotonicMs());
};

export interface ReplicaOptions {
  readonly name: string;
  readonly clock: ManualClock;
  /** Undefined: it is alone. */
  readonly redis: FakeRedis | undefined;
  readonly random: () => number;
  readonly loadFor: (replica: string) => (signal: AbortSignal) => Promise<LoadedList>;
  /** What the one before it has saved. */
  readonly snapshot?: Replica['snapshot'];
  readonly policy?: Partial<FreshnessPolicy>;
  readonly onEvent?: (event: ListEvent) => void;
  /** How it encodes a list; by default without delay. */
  readonly compress?: (bytes: Buffer) => Promise<Buffer>;
}

export type Replica = ReturnType<typeof createReplica>;

const createReplica = (options: ReplicaOptions) => {
  const { name, redis, random, loadFor, compress = async (bytes: Buffer) => bytes } = options;
  const policy = { ttlMs: TTL_MS, maxStaleMs: MAX_STALE_MS, ...options.policy };
  const machine = createMachine(options.clock);
  const { clock } = machine;
  const events: ListEvent[] = [];
  const reports: StoreEvent[] = [];
  const emit = (event: ListEvent): void => {
    events.push(event);
    options.onEvent?.(event);
  };
  const envelope = createEnvelope({
    provider: { environment: 'sandbox', baseUrl: new URL('http://provider.test') },
    banks: RULES,
    policy,
    clock,
    readKey: undefined,
  });
  const fleet =
    redis &&
    createRedisFleet({
      envelope,
      policy,
      clock,
      ioClock: clock,
      readUrl: async () => 'redis://redis.test',
      report: createStoreReport('CACHE_REDIS_URL', clock, (event) => void reports.push(event)),
      connect: machine.connection(redis.connect),
    });
  let snapshot = options.snapshot;
  const list = createBankList({
    policy,
    guard: {
      minBanks: 1,
      maxShrink: 0.2,
      maxDrift: 0.2,
      fields: FIELDS,
      maxStaleMs: policy.maxStaleMs,
    },
    loadTimeoutMs: TIMEOUT_MS,
    load: (signal) =>
      withDeadline((own) => machine.whileAwake(loadFor(name)(own)), {
        limitMs: TIMEOUT_MS,
        clock,
        timeoutError: () => new LoadError('timeout', 'no response'),
        signal,
      }),
    fleet: fleet ?? createSoleReplica(clock),
    save: (taken) => void (snapshot = envelope.seal(taken, clock.wallMs())),
    clock,
    random,
    emit,
    compressors: { gzip: compress, br: async (bytes) => bytes },
  });
  return {
    name,
    list,
    machine,
    events,
    reports,
    get snapshot(): Promise<Buffer> | undefined {
      return snapshot;
    },
    start: async (): Promise<void> => {
      const saved = await snapshot;
      await list.restore(saved && (await envelope.open(saved, clock.wallMs())));
      list.start();
    },
    stop: async (): Promise<void> => {
      await list.stop();
      fleet?.close();
    },
    /** What it serves: the version of its content; undefined: nothing. */
    version: (): number | undefined => {
      const served = list.served();
      return served && versionOf(served.list);
    },
    /** The id of what it serves; empty: nothing. */
    id: (): string => list.served()?.list.id ?? '',
  };
};

/** A machine with a clock of its own, which can be suspended. */
const createMachine = (world: ManualClock) => {
  let wallAheadMs = 0;
  let isSuspended = false;
  let isCutOff = false;
  let missed: (() => void)[] = [];
  const whenAwake = (task: () => void): void => {
    if (isSuspended) missed.push(task);
    else task();
  };
  const whileAwake = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } finally {
      if (isSuspended) await new Promise<void>((resolve) => missed.push(resolve));
    }
  };
  const clock: Clock = {
    // Ages must not depend on when the process started.
    monotonicMs: () => world.monotonicMs() - 999_999,
    wallMs: () => world.wallMs() + wallAheadMs,
    after: (ms, task) => world.after(ms, () => whenAwake(task)),
  };
  return {
    clock,
    whileAwake,
    /** Moves its wall clock. */
    moveClock: (ms: number): void => void (wallAheadMs += ms),
    /** Whether it cannot reach Redis. */
    cutOff: (next: boolean): void => void (isCutOff = next),
    isCutOff: (): boolean => isCutOff,
    isSuspended: (): boolean => isSuspended,
    suspend: (): void => void (isSuspended = true),
    resume: (): void => {
      isSuspended = false;
      const tasks = missed;
      missed = [];
      for (const task of tasks) task();
    },
    /** A connection whose replies wait until the machine is awake. */
    connection:
      (connect: FakeRedis['connect']): FakeRedis['connect'] =>
      async (to) => {
        const reach = <T>(work: () => Promise<T>): Promise<T> =>
          isCutOff ? Promise.reject(new Error('cut off')) : whileAwake(work());
        const client = await reach(() => connect(to));
        return {
          look: (...args) => reach(() => client.look(...args)),
          replaceHold: (...args) => reach(() => client.replaceHold(...args)),
          publish: (...args) => reach(() => client.publish(...args)),
          destroy: () => client.destroy(),
        };
      },
  };
};
