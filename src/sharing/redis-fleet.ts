import { NO_VIEW, type Fleet, type View } from '../banks/fleet.ts';
import type { FreshnessPolicy } from '../banks/freshness.ts';
import { withDeadline, type Clock } from '../clock.ts';
import type { Envelope } from './envelope.ts';
import {
  keysOf,
  loadRedis,
  type ConnectToRedis,
  type RedisClient,
  type RedisKeys,
} from './redis-client.ts';
import { reasonOf } from './redis-errors.ts';
import { StoreError, type StoreReport } from './store-report.ts';

// The list in Redis, shared with the other replicas. After every failure the connection is dropped,
// and the next look makes a new one: with the address as it is then, so that a rotated password
// takes effect. Redis is neither trusted nor relied on: nothing here rejects.

export interface RedisFleetOptions {
  /** Gives the address. */
  readonly readUrl: () => Promise<string>;
  readonly envelope: Envelope;
  readonly policy: FreshnessPolicy;
  readonly clock: Clock;
  /** Measures the deadlines of real input and output. */
  readonly ioClock: Clock;
  readonly report: StoreReport;
  /** The client library unless given. */
  readonly connect?: ConnectToRedis | undefined;
}

/** Longest time for a connection, and for each operation: a stalled Redis delays the loop by it. */
const REDIS_LIMIT_MS = 1_000;

export const createRedisFleet = (options: RedisFleetOptions): Fleet & { close(): void } => {
  const { readUrl, envelope, policy, clock, ioClock, report } = options;
  const closing = new AbortController();
  let connectToRedis = options.connect;
  let client: RedisClient | undefined;
  /** The list that was there last. */
  let seenId = '';
  /**
   * The id in Redis when a write last failed. A greater id means that another replica could write,
   * so Redis works again.
   */
  let unwritableAtId: string | undefined;
  /** The clock of Redis less this process's, in milliseconds; undefined before the first reply. */
  let aheadMs: number | undefined;
  const redisNowMs = (): number =>
    aheadMs === undefined ? clock.wallMs() : clock.monotonicMs() + aheadMs;

  const within = <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline(work, {
      limitMs: REDIS_LIMIT_MS,
      clock: ioClock,
      signal: closing.signal,
      timeoutError: () => new StoreError('does not answer in time'),
    });

  const drop = (error: unknown): void => {
    client?.destroy();
    client = undefined;
    if (!closing.signal.aborted)
      report.failed(`${reasonOf(error)}; the service continues without it`);
  };

  const connected = async (): Promise<RedisClient> => {
    if (client) return client;
    // Outside the deadline: on a busy machine the library alone may take as long.
    connectToRedis ??= await loadRedis();
    const connect = connectToRedis;
    const url = await readUrl();
    // The library also tells of errors while it connects: those are thrown as well.
    let fresh: RedisClient | undefined;
    fresh = await within((signal) =>
      connect({ url, signal, onError: (error) => fresh && client === fresh && drop(error) }),
    );
    return (client = fresh);
  };

  const keysNow = async (): Promise<RedisKeys> => keysOf(await envelope.namespace());

  /** Writes on the connection that there is; `no_redis` where that fails, or there is none. */
  const write = async <T>(
    operation: (redis: RedisClient, keys: RedisKeys) => Promise<T>,
  ): Promise<T | 'no_redis'> => {
    const redis = client;
    if (!redis) return 'no_redis';
    try {
      const keys = await keysNow();
      const result = await within(() => operation(redis, keys));
      unwritableAtId = undefined;
      return result;
    } catch (error) {
      unwritableAtId = seenId;
      drop(error);
      return 'no_redis';
    }
  };

  const look = async (known: string): Promise<View> => {
    try {
      const keys = await keysNow();
      const redis = await connected();
      // The reply's time counts as that of the request: ages are at most a round trip too large,
      // never too small.
      const sentAtMs = clock.monotonicMs();
      const { timeUs, id, body, hold, holdLeftMs } = await within(() => redis.look(keys, known));
      aheadMs = timeUs / 1_000 - sentAtMs;
      const list = body.length > 0 ? await open(body) : undefined;
      seenId = id;
      if (unwritableAtId !== undefined && id > unwritableAtId) unwritableAtId = undefined;
      if (unwritableAtId === undefined && (list || body.length === 0)) report.worked();
      return { up: true, id, list, hold, holdLeftMs };
    } catch (error) {
      drop(error);
      return NO_VIEW;
    }
  };

  /** The list, or undefined if it cannot be used. */
  const open = async (body: Buffer) => {
    try {
      return await envelope.open(body, redisNowMs());
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      report.failed(error.message);
      return undefined;
    }
  };

  return {
    hasRedis: true,
    look,
    replaceHold: (seen, mine, ms) =>
      write((redis, keys) => redis.replaceHold(keys, seen, mine, ms)),
    publish: (list, ownId, unusable) =>
      write(async (redis, keys) => {
        const ms = policy.ttlMs + policy.maxStaleMs - (clock.monotonicMs() - list.askedAtMs);
        const sealed = await envelope.seal(list, redisNowMs());
        const result = await redis.publish(keys, { ownId, unusable, ms, envelope: sealed });
        if (result === 'written') seenId = list.id;
        return result;
      }),
    redisNowMs,
    /** Ends the connection; every later operation fails. */
    close: (): void => {
      closing.abort(new StoreError('is closed'));
      client?.destroy();
      client = undefined;
    },
  };
};
