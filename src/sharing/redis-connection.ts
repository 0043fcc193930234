import type { Clock } from '../clock.ts';
import { withDeadline } from '../deadline.ts';
import { codeOf } from '../error-code.ts';
import { SecretFileError } from '../secrets/secrets.ts';
import { StoreError, type StoreReport } from './store-report.ts';
import { loadRedisClient, type CreateRedisClient, type RedisClient } from './redis-client.ts';

// One connection to Redis at a time, which is replaced after every failure. Reconnecting is done
// here, with a new client each time: the address is read anew, so that a rotated password takes
// effect; a connection counts only after a handshake; and while there is none every operation fails
// at once instead of waiting in a queue. The library's errors end here: they may quote the address
// or the user. A rotated address is tried before the connection in use is closed.

export interface RedisConnectionOptions {
  /**
   * The address to connect to, asked for before each attempt. @throws an error whose message may be
   * logged
   */
  readonly url: () => Promise<string>;
  /**
   * Called with undefined once the address works, and with a fault if it does not while a connection
   * to an earlier address is in use; then also with what is wrong once that one is lost.
   */
  readonly noteAddress?: ((fault: AddressFault | undefined) => void) | undefined;
  /**
   * Prepares each new connection. If it rejects, the connection is closed, and tried again later.
   */
  readonly handshake: (redis: RedisClient) => Promise<void>;
  /** Measures the deadlines of real input and output. */
  readonly ioClock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  readonly report: StoreReport;
  /** The client library's unless given. */
  readonly loadClient?: (() => Promise<CreateRedisClient>) | undefined;
}

/** Why Redis cannot be used at the address, and what happens meanwhile. */
export interface AddressFault {
  readonly problem: string;
  readonly consequence: string;
}

/**
 * The longest delay that a stalled Redis causes, once: the first time-out closes the connection.
 */
export const OPERATION_MS = 500;
/** For the address, TCP, TLS, authentication and the handshake together. */
export const CONNECT_MS = 2_000;
const FIRST_RECONNECT_MS = 100;
const LONGEST_RECONNECT_MS = 2_000;

export const createRedisConnection = (options: RedisConnectionOptions) => {
  const { ioClock, random, report, noteAddress, loadClient = loadRedisClient } = options;
  const closing = new AbortController();
  let connected: RedisClient | undefined;
  let failedAttempts = 0;
  let whyOffline = 'is not connected';
  /** Of the next attempt to connect. */
  let cancelNext = (): void => {};
  let onConnected = (): void => {};
  let firstAttempt: Promise<void> | undefined;
  /** Whether the address did not work when `renew` tried it, and has not worked since. */
  let isAddressFaulty = false;

  const within = <T>(limitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline(work, { limitMs, clock: ioClock, timeoutError: tooLate, signal: closing.signal });

  /** What is wrong with a file is reported as that. */
  const noteFault = (error: unknown): void => {
    if (error instanceof SecretFileError || !(connected || isAddressFaulty)) return;
    isAddressFaulty = true;
    const consequence = connected ? 'the connection in use stays' : CONSEQUENCE;
    noteAddress?.({ problem: reasonOf(error), consequence });
  };

  const goOffline = (error: unknown): void => {
    if (closing.signal.aborted) return;
    whyOffline = `${reasonOf(error)}; ${CONSEQUENCE}`;
    report.ifNew(whyOffline);
    connected?.destroy();
    connected = undefined;
    if (isAddressFaulty) noteFault(error);
    cancelNext();
    cancelNext = ioClock.after(reconnectDelayMs(failedAttempts, random()), () => void connect());
    failedAttempts += 1;
  };

  /** Makes a connection and uses it from then on. */
  const replaceConnection = async (): Promise<void> => {
    // Outside the deadline: on a busy machine the library alone may take as long.
    const createClient = await loadClient();
    const fresh = await within(CONNECT_MS, (signal) =>
      establish(options, createClient, signal, (redis, error) => {
        if (connected === redis) goOffline(error);
      }),
    );
    if (connected) retire(connected, ioClock, closing.signal);
    connected = fresh;
    cancelNext();
    isAddressFaulty = false;
    noteAddress?.(undefined);
  };

  const connect = async (): Promise<void> => {
    try {
      await replaceConnection();
    } catch (error) {
      // Unless `renew` has made one meanwhile.
      if (!connected) goOffline(error);
      return;
    }
    onConnected();
  };

  return {
    /**
     * Starts connecting and keeps reconnecting until `close`. Calls `listener` after each
     * handshake.
     */
    open: (listener: () => void): void => {
      onConnected = listener;
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
    /**
     * Connects anew, with the address as it is now, and then closes the connection that was in use,
     * which stays if that fails. @returns why it failed
     */
    renew: async (): Promise<string | undefined> => {
      try {
        await replaceConnection();
      } catch (error) {
        noteFault(error);
        return reasonOf(error);
      }
      onConnected();
      return undefined;
    },
    /**
     * To be called once the connection has been of use: a server may accept each one, and close it
     * at once.
     */
    endBackOff: (): void => {
      failedAttempts = 0;
    },
    /**
     * Runs `operation`; a failure closes the connection, is reported, and a new connection is made.
     * During the first attempt to connect it waits; later, without a connection, it throws at once.
     * @throws {StoreError} without a connection, or after {@link OPERATION_MS} without an answer
     */
    run: async <T>(operation: (redis: RedisClient) => Promise<T>): Promise<T> => {
      // The first operation may come while the library is loaded and the first connection is made.
      if (!connected) await firstAttempt;
      const used = connected;
      if (!used) throw new StoreError(whyOffline);
      try {
        return await within(OPERATION_MS, () => operation(used));
      } catch (error) {
        // Stalled, full, read-only or loading: unusable until a new connection, perhaps to another
        // server, works.
        if (connected === used) goOffline(error);
        throw new StoreError(`${reasonOf(error)}; ${CONSEQUENCE}`);
      }
    },
  };
};

/**
 * Connects and does the handshake, unless `signal` aborts.
 * @param onError is called with all errors of the connection
 */
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

/**
 * Closes a connection that was replaced, once the operations on it have ended, or when `closing`
 * aborts.
 */
const retire = (redis: RedisClient, ioClock: Clock, closing: AbortSignal): void => {
  const close = (): void => {
    cancel();
    closing.removeEventListener('abort', close);
    redis.destroy();
  };
  const cancel = ioClock.after(OPERATION_MS, close);
  closing.addEventListener('abort', close);
};

/**
 * The delay before the next attempt, after `failedAttempts` others since a connection last lasted;
 * `random` is in [0, 1).
 */
const reconnectDelayMs = (failedAttempts: number, random: number): number =>
  Math.min(LONGEST_RECONNECT_MS, FIRST_RECONNECT_MS * 2 ** failedAttempts) * (0.5 + random / 2);

// What went wrong with Redis, in our words, with the code of Redis, Node or OpenSSL. Their messages
// are never repeated: they may quote the address, the user or a command.

const tooLate = (): Error => new StoreError('does not answer in time');

/** For example `refuses the user or the password (WRONGPASS)`. */
const reasonOf = (error: unknown): string => {
  if (error instanceof StoreError) return error.message;
  if (error instanceof SecretFileError) return `cannot be used: ${error.message}`;
  const code = codeOf(error) || replyCodeOf(error);
  if (code === 'NOPERM') return `denies this user ${deniedTo(error)} (NOPERM)`;
  return `${REASONS[code] ?? 'cannot be used'} (${code || 'connection lost'})`;
};

const CONSEQUENCE = 'the service continues without it';

const REASONS: Readonly<Record<string, string>> = {
  WRONGPASS: 'refuses the user or the password',
  NOAUTH: 'requires a password',
  OOM: 'is full',
  READONLY: 'is read-only',
  MASTERDOWN: 'is failing over',
  LOADING: 'is loading its data',
  ECONNREFUSED: 'refuses the connection',
  ENOTFOUND: 'has an unknown host name',
};

/**
 * Redis starts an error reply with a code in capitals, such as `WRONGPASS invalid username-password
 * pair`.
 */
export const replyCodeOf = (error: unknown): string =>
  error instanceof Error ? (/^([A-Z]{2,20})\b/.exec(error.message)?.[1] ?? '') : '';

/** What an error reply with NOPERM says: the command in capitals, where it is one that is used. */
export const deniedTo = (error: unknown): string => {
  const command =
    error instanceof Error ? /'([a-z|]{2,20})' command/i.exec(error.message)?.[1] : undefined;
  const used = USED_COMMANDS.find((name) => name === command?.toUpperCase());
  if (used) return `the command ${used}`;
  return error instanceof Error && /key/.test(error.message)
    ? 'keys that begin with banks-bff:'
    : 'a command, key or channel that is needed';
};

/** All that the service uses. */
const USED_COMMANDS = [
  'HELLO',
  'CLIENT',
  'EVAL',
  'TIME',
  'GETRANGE',
  'SET',
  'PUBLISH',
  'SUBSCRIBE',
  'CLUSTER',
  'COMMAND',
];
