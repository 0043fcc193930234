import type * as RedisLibrary from '@redis/client';
import type { HoldResult, PublishResult } from '../banks/fleet.ts';
import { ID_BYTES } from './envelope.ts';
import { StoreError } from './store-report.ts';

// One connection to Redis, or to a Redis Cluster, by the client library, and the three scripts: the
// only file that knows the library. A user needs the rights
// ~banks-bff:* +eval +time +getrange +pttl +set, and +hello +client +cluster for the library
// (+select where the address names a database).

export interface RedisClient {
  /** What is there, at one moment; the list is sent unless its id is `known`. */
  look(keys: RedisKeys, known: string): Promise<StoredNow>;
  /** Replaces the hold `seen` by `mine`, for `ms`. */
  replaceHold(keys: RedisKeys, seen: string, mine: string, ms: number): Promise<HoldResult>;
  /**
   * Writes the list for `ms`, unless there is one with an id greater than `ownId`, other than
   * `unusable`.
   */
  publish(keys: RedisKeys, { ownId, unusable, envelope, ms }: Publication): Promise<PublishResult>;
  /** Ends the connection, or the attempt to make one, at once. */
  destroy(): void;
}

/** In a Cluster both are in one slot, by the part in braces. */
export interface RedisKeys {
  readonly list: string;
  readonly hold: string;
}

/** @param namespace of the lists that can be exchanged */
export const keysOf = (namespace: string): RedisKeys => ({
  list: `banks-bff:{${namespace}}:list`,
  hold: `banks-bff:{${namespace}}:hold`,
});

export interface StoredNow {
  readonly timeUs: number;
  readonly id: string;
  readonly body: Buffer;
  readonly hold: string;
  /** Negative where the hold has no end, or there is none. */
  readonly holdLeftMs: number;
}

export interface Publication {
  readonly ownId: string;
  readonly unusable: string;
  readonly envelope: Buffer;
  readonly ms: number;
}

export interface ConnectOptions {
  readonly url: string;
  /** Aborts when the attempt has taken too long. */
  readonly signal: AbortSignal;
  /** Called with errors of the connection, also before it has been made. */
  readonly onError: (error: unknown) => void;
}

export type ConnectToRedis = (options: ConnectOptions) => Promise<RedisClient>;

/** Ids are digits, which Lua compares in every locale. */
const ID_OF_LIST = `redis.call('GETRANGE', KEYS[1], ${ID_BYTES.join()})`;

const LOOK = `
local id = ${ID_OF_LIST}
return { redis.call('TIME'), id, id ~= ARGV[1] and redis.call('GETRANGE', KEYS[1], 0, -1) or '',
  redis.call('GETRANGE', KEYS[2], 0, 255), redis.call('PTTL', KEYS[2]) }`;

const REPLACE_HOLD = `
if redis.call('GETRANGE', KEYS[1], 0, 255) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return redis.call('TIME')`;

const PUBLISH = `
local id = ${ID_OF_LIST}
if id > ARGV[1] and id ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
return 1`;

type Library = typeof RedisLibrary;

/** What a connection to a single server, and one to a Cluster, can do. */
interface LibraryClient {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  eval(
    script: string,
    options: { keys: string[]; arguments: (string | Buffer)[] },
  ): Promise<unknown>;
}

/** Loads the library, which takes about 100 ms: only where it is used. */
export const loadRedis = async (): Promise<ConnectToRedis> => {
  const library = await import('@redis/client');
  return (options) => connect(library, options);
};

const connect = async (library: Library, options: ConnectOptions): Promise<RedisClient> => {
  const { signal } = options;
  const single = openServer(library, options);
  let client: LibraryClient = single;
  const destroy = (): void => {
    if (client.isOpen) client.destroy();
  };
  // The library's own time-outs do not cover all of an attempt.
  signal.addEventListener('abort', destroy);
  try {
    await single.connect();
    if ((await single.hello()).mode.toString() === 'cluster') {
      single.destroy();
      signal.throwIfAborted();
      client = connectToCluster(library, options);
      await client.connect();
    }
    signal.throwIfAborted();
    return commandsOf(client, destroy);
  } catch (error) {
    destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', destroy);
  }
};

const commandsOf = (client: LibraryClient, destroy: () => void): RedisClient => ({
  destroy,
  look: async ({ list, hold }, known) => {
    const reply = await client.eval(LOOK, { keys: [list, hold], arguments: [known] });
    const [time, id, body, text, left] = Array.isArray(reply) ? reply : [];
    if (![id, body, text].every((value) => Buffer.isBuffer(value)) || !Number.isInteger(left))
      throw unexpectedReply();
    return {
      timeUs: timeInReply(time),
      id: id.toString('latin1'),
      body,
      hold: text.toString('latin1'),
      holdLeftMs: left,
    };
  },
  replaceHold: async ({ hold }, seen, mine, ms) => {
    const bytes = Buffer.from(seen, 'latin1');
    const reply = await client.eval(REPLACE_HOLD, {
      keys: [hold],
      arguments: [bytes, mine, whole(ms)],
    });
    return reply === 0 ? 'taken' : { timeUs: timeInReply(reply) };
  },
  publish: async ({ list }, { ownId, unusable, envelope, ms }) => {
    const reply = await client.eval(PUBLISH, {
      keys: [list],
      arguments: [ownId, Buffer.from(unusable, 'latin1'), envelope, whole(ms)],
    });
    if (reply !== 0 && reply !== 1) throw unexpectedReply();
    return reply === 1 ? 'written' : 'later_list';
  },
});

const whole = (ms: number): string => String(Math.max(1, Math.round(ms)));

/** The reply of TIME: seconds, and microseconds. */
const timeInReply = (reply: unknown): number => {
  const [seconds, microseconds] = Array.isArray(reply) ? reply : [];
  const timeUs = Number(seconds) * 1_000_000 + Number(microseconds);
  if (!Number.isSafeInteger(timeUs) || timeUs <= 0) throw unexpectedReply();
  return timeUs;
};

const unexpectedReply = (): StoreError => new StoreError('sends an unexpected reply');

const openServer = (library: Library, options: ConnectOptions) => {
  const redis = library.createClient({
    url: options.url,
    ...clientOptions,
    socket: socketOf(options.url),
    commandOptions: { typeMapping: typesOfReplies(library) },
  });
  // Never removed: an 'error' event without a listener would end the process.
  redis.on('error', options.onError);
  return redis;
};

const connectToCluster = (library: Library, options: ConnectOptions) => {
  const { username, password } = new URL(options.url);
  const redis = library.createCluster({
    rootNodes: [{ url: options.url }],
    // For every node, also for those that the first one names.
    defaults: {
      ...clientOptions,
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      socket: socketOf(options.url),
    },
    // Only the node with the keys is used.
    minimizeConnections: true,
    commandOptions: { typeMapping: typesOfReplies(library) },
  });
  redis.on('error', options.onError);
  redis.on('node-error', options.onError);
  return redis;
};

const typesOfReplies = ({ RESP_TYPES }: Library) => ({ [RESP_TYPES.BLOB_STRING]: Buffer });

const clientOptions = {
  name: 'banks-bff',
  // It neither queues commands nor reconnects by itself.
  disableOfflineQueue: true,
  // They are for Redis Enterprise; to ask for them, the library looks up the brackets of an IPv6
  // address as a host name.
  maintNotifications: 'disabled',
} as const;

/** Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would disable the check of certificates. */
const socketOf = (url: string) =>
  new URL(url).protocol === 'rediss:'
    ? ({ reconnectStrategy: false, tls: true, rejectUnauthorized: true } as const)
    : ({ reconnectStrategy: false } as const);
