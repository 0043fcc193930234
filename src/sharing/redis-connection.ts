import type { Clock } from '../clock.ts';
import { withDeadline } from '../deadline.ts';
import { codeOf } from '../error-code.ts';
import { SecretFileError } from '../secrets/watched-files.ts';
import { StoreError, type StoreEvent } from './list-store.ts';
import { loadRedisClient, type CreateRedisClient, type RedisClient } from './redis-client.ts';

// One connection to Redis at a time, which is replaced after every failure. Reconnecting is done here, with a
// new client each time: the address is read anew, so that a rotated password takes effect; a connection counts only after
// a handshake; and while there is none every operation fails at once instead of waiting in a queue. The library's errors
// end here: they may quote the address or the user.

export interface RedisConnectionOptions {
  /** The address to connect to, asked for before each attempt. @throws an error whose message may be logged */
  readonly url: () => Promise<string>;
  /** Prepares each new connection. If it rejects, the connection is closed, and tried again later. */
  readonly handshake: (redis: RedisClient) => Promise<void>;
  /** Measures the deadlines of real input and output. */
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  readonly onEvent: (event: StoreEvent) => void;
  /** The client library's unless given. */
  readonly loadClient?: (() => Promise<CreateRedisClient>) | undefined;
}

/** The longest delay that a stalled Redis causes, once: the first time-out closes the connection. */
export const OPERATION_MS = 500;
/** For the address, TCP, TLS, authentication and the handshake together. */
export const CONNECT_MS = 2_000;
/** Finds a dead connection before a renewal needs it; shorter than the idle time-outs of NAT gateways. */
const PING_EVERY_MS = 5_000;
const STORE = 'CACHE_REDIS_URL';
const FIRST_RECONNECT_MS = 100;
const LONGEST_RECONNECT_MS = 2_000;

export const createRedisConnection = (options: RedisConnectionOptions) => {
  const { clock, random, onEvent, loadClient = loadRedisClient } = options;
  const closing = new AbortController();
  let connected: RedisClient | undefined;
  let failedAttempts = 0;
  let whyOffline = 'is not connected';
  /** An outage is reported once, and so is its end. */
  let isReported = false;
  /** Of the next ping, or of the next attempt to connect. */
  let cancelNext = (): void => {};
  let onReady = (): void => {};
  let firstAttempt: Promise<void> | undefined;

  const within = <T>(limitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline(work, { limitMs, clock, timeoutError: tooLate, signal: closing.signal });

  const goOffline = (error: unknown, callerReports = false): void => {
    if (closing.signal.aborted) return;
    whyOffline = describeRedisError(error);
    if (!isReported && !callerReports) onEvent({ type: 'store-failed', store: STORE, reason: whyOffline });
    isReported = true;
    connected?.destroy();
    connected = undefined;
    cancelNext();
    cancelNext = clock.after(reconnectDelayMs(failedAttempts, random()), () => void connect());
    failedAttempts += 1;
  };

  const connect = async (): Promise<void> => {
    try {
      // Outside the deadline: on a busy machine the library alone may take as long.
      const createClient = await loadClient();
      connected = await within(CONNECT_MS, (signal) =>
        establish(options, createClient, signal, (redis, error) => {
          if (connected === redis) goOffline(error);
        }),
      );
    } catch (error) {
      goOffline(error);
      return;
    }
    schedulePing();
    if (isReported) onEvent({ type: 'store-recovered', store: STORE });
    isReported = false;
    onReady();
  };

  const schedulePing = (): void => {
    const ping = async (): Promise<void> => {
      await run((redis) => redis.ping(), false);
      // Only a connection that has lasted ends the back-off: one may be accepted and closed again and again.
      failedAttempts = 0;
      schedulePing();
    };
    // After a failure a reconnection is scheduled.
    cancelNext = clock.after(PING_EVERY_MS, () => void ping().catch(() => undefined));
  };

  /**
   * Runs `operation`; a failure other than of its data closes the connection, and a new one is made. During the first
   * attempt to connect it waits; later, without a connection, it throws at once.
   * @throws {StoreError} without a connection, or after {@link OPERATION_MS} without an answer
   * @param callerReports whether the caller reports a failure as an event; otherwise an outage that it begins is reported here
   */
  const run = async <T>(operation: (redis: RedisClient) => Promise<T>, callerReports = true): Promise<T> => {
    // The first operation may come while the library is loaded and the first connection is made.
    if (!connected) await firstAttempt;
    const used = connected;
    if (!used) throw new StoreError(whyOffline);
    try {
      return await within(OPERATION_MS, () => operation(used));
    } catch (error) {
      // Stalled, full, read-only or loading: unusable until a new connection, perhaps to another server, works.
      if (connected === used && !isWrongType(error)) goOffline(error, callerReports);
      throw new StoreError(describeRedisError(error));
    }
  };

  return {
    /** Starts connecting and keeps reconnecting until `close`. Calls `listener` after each handshake. */
    open: (listener: () => void): void => {
      onReady = listener;
      firstAttempt = connect();
    },
    close: (): void => {
      closing.abort(new StoreError('is closed'));
      cancelNext();
      connected?.destroy();
      connected = undefined;
      whyOffline = 'is closed';
    },
    isOpen: (): boolean => connected !== undefined,
    run,
  };
};

/** Connects and does the handshake, unless `signal` aborts. `onError` is called with all errors of the connection. */
const establish = async (
  { url, handshake }: RedisConnectionOptions,
  createClient: CreateRedisClient,
  signal: AbortSignal,
  onError: (redis: RedisClient, error: unknown) => void,
): Promise<RedisClient> => {
  const address = await url();
  signal.throwIfAborted();
  const redis = createClient({
    url: address,
    connectTimeoutMs: CONNECT_MS,
    onError: (error) => onError(redis, error),
  });
  signal.addEventListener('abort', () => redis.destroy());
  try {
    await redis.connect();
    await handshake(redis);
    return redis;
  } catch (error) {
    redis.destroy();
    throw error;
  }
};

/** The delay before the next attempt, after `failedAttempts` others since a connection last lasted; `random` is in [0, 1). */
const reconnectDelayMs = (failedAttempts: number, random: number): number =>
  Math.min(LONGEST_RECONNECT_MS, FIRST_RECONNECT_MS * 2 ** failedAttempts) * (0.5 + random / 2);

// What went wrong with Redis, in our words, with the code of Redis, Node or OpenSSL. Their messages are never repeated:
// they may quote the address, the user or a command.

const tooLate = (): Error => new StoreError(`does not answer in time; ${CONSEQUENCE}`);

/** For example `refuses the user or the password (WRONGPASS); the service continues without it`. */
const describeRedisError = (error: unknown): string => {
  if (error instanceof StoreError) return error.message;
  if (error instanceof SecretFileError) return `cannot be used: ${error.message}; ${CONSEQUENCE}`;
  if (isWrongType(error)) return 'does not contain a saved list; ignored';
  const code = codeOf(error) || replyCodeOf(error);
  return `${REASONS[code] ?? 'cannot be used'} (${code || 'connection lost'}); ${CONSEQUENCE}`;
};

const CONSEQUENCE = 'the service continues without it';

const REASONS: Readonly<Record<string, string>> = {
  WRONGPASS: 'refuses the user or the password',
  NOAUTH: 'requires a password',
  NOPERM: 'denies this user a command that is needed',
  OOM: 'is full',
  READONLY: 'is read-only',
  MASTERDOWN: 'is failing over',
  LOADING: 'is loading its data',
  ECONNREFUSED: 'refuses the connection',
  ENOTFOUND: 'has an unknown host name',
};

/** Redis starts an error reply with a code in capitals, such as `WRONGPASS invalid username-password pair`. */
export const replyCodeOf = (error: unknown): string =>
  error instanceof Error ? (/^([A-Z]{2,20})\b/.exec(error.message)?.[1] ?? '') : '';

/** Whether there is a value of another type under a key: a fault of the data, not of the connection. */
const isWrongType = (error: unknown): boolean => replyCodeOf(error) === 'WRONGTYPE';
