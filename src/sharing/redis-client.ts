import type * as RedisLibrary from '@redis/client';
import { storeTime, type StoreMs } from '../clock.ts';
import { StoreError } from './store-report.ts';

// One connection to Redis, or to a Redis Cluster, by the client library, which encodes commands,
// parses replies and authenticates: the only file that knows the library.

export interface RedisClient {
  /** Connects and authenticates, and finds out by HELLO whether the server belongs to a Cluster. */
  connect(): Promise<void>;
  /** Ends the connection, or the attempt to make one, at once; does nothing where there is none. */
  destroy(): void;
  /**
   * The store's time and the first `maxBytes` of each value, read at one moment; undefined where
   * there is none. A value of another type counts as none. In a Cluster the keys must be in one
   * slot.
   */
  read(keys: readonly string[], maxBytes: number): Promise<ReadValues>;
  /**
   * Sets all `entries` in one step, if the first one's key still has the value `expected`
   * (undefined: none), of which no more than the first {@link COMPARED_BYTES} are compared. A value
   * of another type counts as none.
   * @param lifeMs milliseconds after which Redis deletes the values
   * @returns whether it did
   */
  compareAndSet(
    expected: Buffer | undefined,
    entries: readonly RedisEntry[],
    lifeMs: number,
  ): Promise<boolean>;
  /** In a Cluster the channel is in the slot of a key with its name. */
  publish(channel: string, message: string): Promise<void>;
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
}

export interface ReadValues {
  readonly storeMs: StoreMs;
  readonly values: readonly (Buffer | undefined)[];
}

export interface RedisEntry {
  readonly key: string;
  readonly value: Buffer;
}

/**
 * The most bytes of a value that are compared. None that this service writes and compares has more;
 * longer ones are compared by their beginning.
 */
export const COMPARED_BYTES = 1024;

export interface RedisClientOptions {
  readonly url: string;
  /** Longest time for a TCP connection. */
  readonly connectTimeoutMs: number;
  /** Called with each error of the connection, also after {@link RedisClient.destroy}. */
  readonly onError: (error: unknown) => void;
}

export type CreateRedisClient = (options: RedisClientOptions) => RedisClient;

/**
 * For all scripts. A value of another type counts as none. Any other failure is the script's
 * reply; what a user may not do is worded as outside of scripts, where Redis names the command.
 */
const TRY = `
local failure
local function try(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, 'WRONGTYPE') then return '' end
  failure = reply
  if string.find(reply.err, "can't run this command") then
    failure = redis.error_reply("NOPERM no permission to run the '" .. command .. "' command")
  elseif string.find(reply.err, "can't access at least one of the keys") then
    failure = redis.error_reply('NOPERM no permission to access one of the keys')
  end
  return ''
end`;

/**
 * KEYS: what to read. ARGV: how many bytes of each. Returns seconds, microseconds, and the values.
 */
const READ = `${TRY}
local now = try('time')
if failure then return failure end
local found = { now[1], now[2] }
for index, key in ipairs(KEYS) do
  found[index + 2] = try('getrange', key, 0, ARGV[1] - 1)
end
return failure or found`;

/**
 * KEYS: what to set, the first one compared. ARGV: the expected value ('' for none), the life in
 * ms, the values.
 */
const COMPARE_AND_SET = `${TRY}
local value = try('getrange', KEYS[1], 0, ${COMPARED_BYTES - 1})
if failure then return failure end
if value ~= ARGV[1] then return 0 end
for index, key in ipairs(KEYS) do
  try('set', key, ARGV[index + 2], 'px', ARGV[2])
  if failure then return failure end
end
return 1`;

/**
 * KEYS: the channel. ARGV: the message. In a Cluster every node sends it to all; a script is run by
 * the one that has the channel's slot, while the library's own command takes any node, which may be
 * down.
 */
const PUBLISH = `${TRY}
try('publish', KEYS[1], ARGV[1])
return failure`;

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
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
}

/** Loads the library, which takes about 100 ms: only where it is used. */
export const loadRedisClient = async (): Promise<CreateRedisClient> => {
  const library = await import('@redis/client');
  const template = createTemplate(library);
  return (options) => createRedisClient(library, template, options);
};

/**
 * A client that is never connected. The clients for each address are its duplicates, which share its
 * commands: `createClient` makes them again for each other address, which takes 10 ms.
 */
const createTemplate = (library: Library) =>
  library.createClient({ commandOptions: { typeMapping: typesOfReplies(library) } });

const createRedisClient = (
  library: Library,
  template: ReturnType<typeof createTemplate>,
  options: RedisClientOptions,
): RedisClient => {
  const single = openServer(template, options);
  let connection: LibraryClient = single;
  const evaluate = async (
    script: string,
    keys: readonly string[],
    values: readonly (string | Buffer)[],
  ): Promise<unknown> => connection.eval(script, { keys: [...keys], arguments: [...values] });
  let isDestroyed = false;
  return {
    connect: async () => {
      await single.connect();
      if ((await single.hello()).mode.toString() !== 'cluster') return;
      single.destroy();
      if (isDestroyed) return;
      connection = connectToCluster(library, options);
      await connection.connect();
    },
    destroy: () => {
      isDestroyed = true;
      if (connection.isOpen) connection.destroy();
    },
    read: async (keys, maxBytes) => {
      const reply = await evaluate(READ, keys, [String(maxBytes)]);
      if (!isListOfBuffers(reply) || reply.length !== keys.length + 2) throw unexpectedReply();
      const [seconds, microseconds, ...values] = reply;
      const storeMs = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
      if (!Number.isSafeInteger(storeMs)) throw unexpectedReply();
      return {
        storeMs: storeTime(storeMs),
        values: values.map((value) => (value.length > 0 ? value : undefined)),
      };
    },
    compareAndSet: async (expected, entries, lifeMs) => {
      const keys = entries.map(({ key }) => key);
      const expectedBytes = (expected ?? Buffer.alloc(0)).subarray(0, COMPARED_BYTES);
      const values = entries.map(({ value }) => value);
      const life = String(Math.max(1, Math.round(lifeMs)));
      const reply = await evaluate(COMPARE_AND_SET, keys, [expectedBytes, life, ...values]);
      if (reply !== 0 && reply !== 1) throw unexpectedReply();
      return reply === 1;
    },
    publish: async (channel, message) => void (await evaluate(PUBLISH, [channel], [message])),
    subscribe: async (channel, onMessage) =>
      void (await connection.subscribe(channel, (message) => onMessage(message))),
  };
};

const isListOfBuffers = (value: unknown): value is readonly Buffer[] =>
  Array.isArray(value) && value.every((part) => Buffer.isBuffer(part));

/** Read as "not set", it would mean that other replicas always win. */
const unexpectedReply = (): StoreError => new StoreError('sends an unexpected reply');

const openServer = (template: ReturnType<typeof createTemplate>, options: RedisClientOptions) => {
  const redis = template.duplicate({ url: options.url, ...clientOptions(options) });
  // Never removed: an 'error' event without a listener would end the process.
  redis.on('error', options.onError);
  return redis;
};

const connectToCluster = (library: Library, options: RedisClientOptions) => {
  const { username, password, protocol } = new URL(options.url);
  const { socket, ...common } = clientOptions(options);
  const redis = library.createCluster({
    rootNodes: [{ url: options.url }],
    // For every node, also for those that the first one names.
    defaults: {
      ...common,
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      socket: protocol === 'rediss:' ? { ...socket, tls: true } : socket,
    },
    // Only the node with the keys, and one that passes on the messages, are used.
    minimizeConnections: true,
    commandOptions: { typeMapping: typesOfReplies(library) },
  });
  redis.on('error', options.onError);
  redis.on('node-error', options.onError);
  return redis;
};

const typesOfReplies = ({ RESP_TYPES }: Library) => ({
  [RESP_TYPES.BLOB_STRING]: Buffer,
  // Nothing that is used has one; as a bigint, a million digits would take seconds.
  [RESP_TYPES.BIG_NUMBER]: String,
});

const clientOptions = ({ connectTimeoutMs }: RedisClientOptions) => ({
  name: 'banks-bff',
  // It neither queues commands nor reconnects by itself.
  disableOfflineQueue: true,
  // They are for Redis Enterprise; to ask for them, the library looks up the brackets of an IPv6
  // address as a host name.
  maintNotifications: 'disabled' as const,
  socket: { reconnectStrategy: false as const, connectTimeout: connectTimeoutMs },
});
