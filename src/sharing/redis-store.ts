import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { ENVELOPE_VERSION, tooLarge, type Envelope } from './envelope.ts';
import { StoreError, type SharedStore, type StoreEvent } from './list-store.ts';

// The shared list in Redis or Valkey (6 or newer: RESP3 carries commands and news on one connection). One connection,
// one attempt to connect at a time, a deadline for everything, and nothing queued: while there is no connection every
// operation fails at once, so that a Redis known to be bad costs no waiting. The client's errors never leave this
// file: they may quote the address, the user or a command.

export interface RedisStoreOptions {
  /** `redis:` or `rediss:`, with user and password where there are any. Certificates are checked. */
  readonly url: string;
  /** See {@link import('./envelope.ts').provenanceId}. */
  readonly provenance: string;
  readonly envelope: Envelope;
  /** How long after the provider sent a list Redis drops it, in milliseconds. */
  readonly lifeMs: number;
  /** Measures the deadlines of real input and output. */
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** False where time is moved by hand, which Redis does not notice: then a list's age is not asked of it. */
  readonly tellsAges?: boolean;
  readonly onEvent: (event: StoreEvent) => void;
}

/** What a stalled Redis can delay a start or a renewal by, once: the first time-out drops the connection. */
const OPERATION_MS = 500;
/** From the first packet to the subscription: TCP, TLS, AUTH. */
const CONNECT_MS = 2_000;
/** Finds a connection that died in silence before a renewal needs it; shorter than the idle time-outs of NAT. */
const PING_EVERY_MS = 5_000;
const FIRST_RECONNECT_MS = 100;
const LONGEST_RECONNECT_MS = 2_000;

/** Deletes the lease only where it is still ours: after a pause it may be another replica's. */
const RELEASE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

export const createRedisStore = (options: RedisStoreOptions): SharedStore => {
  const { provenance, envelope, lifeMs, clock, random, onEvent, tellsAges = true } = options;
  const name = 'CACHE_REDIS_URL';
  // Another version or another configuration lives under other keys, so that a rolling deployment has both.
  const prefix = `banks-bff:${ENVELOPE_VERSION}:${provenance}`;
  const keys = {
    list: `${prefix}:list`,
    lease: `${prefix}:lease`,
    probe: `${prefix}:probe`,
    news: `${prefix}:news`,
  };
  /** Random, so that no other replica has it: it signs the news and the lease. */
  const ownId = randomUUID();
  const ownLease = { keys: [keys.lease], arguments: [ownId] };

  let client: Client | undefined;
  /** Resolves with the first attempt to connect under way; the code for it is loaded then. */
  let opening: Promise<{ readonly firstAttempt: Promise<void> }> | undefined;
  let failedAttempts = 0;
  let whyOffline = 'is not connected';
  let isOfflineTold = false;
  let isClosed = false;
  let cancelTimer = (): void => {};

  const connect = async (library: Library, onChange: () => void): Promise<void> => {
    const candidate = createRedis(library, options.url);
    const goOffline = (error: unknown): void => {
      client = undefined;
      destroy(candidate);
      if (isClosed) return;
      whyOffline = reasonOf(error);
      if (!isOfflineTold) onEvent({ type: 'store-failed', store: name, reason: whyOffline });
      isOfflineTold = true;
      const stepMs = Math.min(LONGEST_RECONNECT_MS, FIRST_RECONNECT_MS * 2 ** failedAttempts);
      failedAttempts += 1;
      cancelTimer();
      cancelTimer = clock.after(stepMs * (0.5 + random() / 2), () => void connect(library, onChange));
    };
    // Never taken off: an 'error' without a listener would end the process.
    candidate.on('error', (error: unknown) => {
      if (client?.redis === candidate) goOffline(error);
    });
    const introduce = async (): Promise<void> => {
      await candidate.connect();
      // One that only reads, or is full, is of no use: nothing could be shared through it.
      await candidate.set(keys.probe, ownId, { expiration: { type: 'PX', value: 1_000 } });
      // A claim whose answer never came may have been granted all the same.
      await candidate.eval(RELEASE, ownLease);
      await candidate.subscribe(keys.news, (writer) => {
        if (writer !== ownId) onChange();
      });
    };
    try {
      await within(CONNECT_MS, introduce(), clock);
    } catch (error) {
      goOffline(error);
      return;
    }
    if (isClosed) {
      destroy(candidate);
      return;
    }
    client = { redis: candidate, binary: asBytes(library, candidate), goOffline };
    keepAlive();
    if (isOfflineTold) onEvent({ type: 'store-recovered', store: name });
    isOfflineTold = false;
    onChange();
  };

  const keepAlive = (): void => {
    cancelTimer = clock.after(PING_EVERY_MS, () => void ping());
  };
  const ping = async (): Promise<void> => {
    try {
      await operate(({ redis }) => redis.ping());
      failedAttempts = 0;
      keepAlive();
    } catch {
      // It is offline now, and on its way back.
    }
  };

  /** @throws {StoreError} at once while there is no connection, after {@link OPERATION_MS} if there is no answer */
  const operate = async <T>(operation: (client: Client) => Promise<T>): Promise<T> => {
    // The first operation may come while the first connection is being made.
    if (!client && opening) {
      const { firstAttempt } = await opening;
      await within(OPERATION_MS, firstAttempt, clock).catch(() => undefined);
    }
    if (!client) {
      // Whoever asked tells it.
      isOfflineTold = true;
      throw new StoreError(whyOffline);
    }
    const used = client;
    try {
      return await within(OPERATION_MS, operation(used), clock);
    } catch (error) {
      if (codeOf(error) === 'WRONGTYPE') throw new StoreError('does not contain a saved list; ignored');
      // Stalled, full, demoted, loading: known to be bad until a new connection shows otherwise, perhaps elsewhere.
      if (client === used) used.goOffline(error);
      throw new StoreError(reasonOf(error));
    }
  };

  return {
    name,
    open: (onChange) => {
      opening = loadLibrary().then((library) => ({ firstAttempt: connect(library, onChange) }));
    },
    close: () => {
      isClosed = true;
      cancelTimer();
      if (client) destroy(client.redis);
      client = undefined;
      whyOffline = 'is closed';
    },
    read: async () => {
      // The remaining life first: if another list comes in between, it seems older than it is, never younger.
      const [leftMs, bytes] = await operate(({ redis, binary }) =>
        Promise.all([redis.pTTL(keys.list), binary.getRange(keys.list, 0, envelope.maxBytes)]),
      );
      if (bytes === null || bytes.length === 0) return undefined;
      if (bytes.length > envelope.maxBytes) throw tooLarge(envelope.maxBytes);
      const opened = await envelope.open(bytes);
      // Negative: without an expiry, or gone.
      const isKnown = tellsAges && leftMs >= 0;
      return { list: opened.list, ageMs: isKnown ? (opened.lifeMs ?? lifeMs) - leftMs : undefined };
    },
    write: async (list, ageMs) => {
      // The rest of its life also tells the other replicas its age, whatever their clocks say.
      const expiration = { type: 'PX', value: Math.max(1, Math.round(lifeMs - ageMs)) } as const;
      await operate(({ redis }) => redis.set(keys.list, envelope.seal(list, lifeMs), { expiration }));
      await operate(({ redis }) => redis.publish(keys.news, ownId));
    },
    claim: async (forMs) => {
      const expiration = { type: 'PX', value: forMs } as const;
      const answer = await operate(({ redis }) =>
        redis.set(keys.lease, ownId, { condition: 'NX', expiration }),
      );
      if (answer === null) return undefined;
      return async () => {
        // Where it cannot be released it ends by itself.
        await operate(({ redis }) => redis.eval(RELEASE, ownLease)).catch(() => undefined);
      };
    },
  };
};

/** Loaded only where it is used: loading it takes a process 150 to 250 ms. */
const loadLibrary = () => import('redis');

type Library = Awaited<ReturnType<typeof loadLibrary>>;

/** Queues nothing and never connects again by itself: both are decided here. */
const createRedis = ({ createClient }: Library, url: string) =>
  createClient({
    url,
    name: 'banks-bff',
    disableOfflineQueue: true,
    socket: { reconnectStrategy: false, connectTimeout: CONNECT_MS },
  });

type Redis = ReturnType<typeof createRedis>;

/** The same connection, with values as bytes: a list is not made a string before it is known to be one. */
const asBytes = ({ RESP_TYPES }: Library, redis: Redis) =>
  redis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });

/** A connection that has been made, and what ends its use. */
interface Client {
  readonly redis: Redis;
  readonly binary: ReturnType<typeof asBytes>;
  readonly goOffline: (error: unknown) => void;
}

class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** `work`, or a rejection when it takes longer than `limitMs`. */
const within = <T>(limitMs: number, work: Promise<T>, clock: Clock): Promise<T> =>
  new Promise((resolve, reject) => {
    const cancel = clock.after(limitMs, () => reject(new DeadlineError()));
    work.then(resolve, reject).finally(cancel);
  });

const destroy = (redis: Redis): void => {
  // It throws where there is nothing to destroy.
  if (redis.isOpen) redis.destroy();
};

/** What went wrong, in words of this file and a code that Redis, Node or OpenSSL gave: never their messages. */
const reasonOf = (error: unknown): string => {
  if (error instanceof DeadlineError) return 'does not answer in time; the service goes on without it';
  const code = codeOf(error);
  return `${REASONS[code] ?? 'cannot be used'} (${code}); the service goes on without it`;
};

const REASONS: Readonly<Record<string, string>> = {
  WRONGPASS: 'refuses the user or the password',
  NOAUTH: 'wants a password',
  NOPERM: 'does not permit this user what is needed',
  OOM: 'is full',
  READONLY: 'is read-only',
  MASTERDOWN: 'is failing over',
  LOADING: 'is loading',
  ECONNREFUSED: 'refuses the connection',
  ENOTFOUND: 'is at an unknown host',
};

/** Redis begins an error with a code in capitals; Node's have one as a property. */
const codeOf = (error: unknown): string => {
  if (typeof error !== 'object' || error === null) return 'unknown error';
  if ('code' in error && typeof error.code === 'string') return error.code;
  const [, code] = 'message' in error ? (/^([A-Z]{2,20})\b/.exec(String(error.message)) ?? []) : [];
  return code ?? 'connection lost';
};
