// One connection to Redis by the client library, which encodes commands, parses replies and authenticates: the only file
// that knows the library.

export interface RedisClient {
  /** Connects and authenticates. */
  connect(): Promise<void>;
  /** Ends the connection, or the attempt to make one, at once; does nothing where there is none. */
  destroy(): void;
  ping(): Promise<void>;
  /** @param lifeMs milliseconds after which Redis deletes the value */
  set(key: string, value: string | Buffer, lifeMs: number): Promise<void>;
  /** Sets a key that has no value. @returns whether it did */
  setIfAbsent(key: string, value: string, lifeMs: number): Promise<boolean>;
  /** Deletes the key if it has this value. */
  deleteIfEqual(key: string, value: string): Promise<void>;
  /** Up to `maxBytes` bytes of the value, none if there is no value; and its remaining life, negative where it is unknown. */
  read(key: string, maxBytes: number): Promise<{ readonly bytes: Buffer; readonly leftMs: number }>;
  publish(channel: string, message: string): Promise<void>;
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>;
}

export interface RedisClientOptions {
  readonly url: string;
  /** Longest time for a TCP connection. */
  readonly connectTimeoutMs: number;
  /** Called with each error of the connection, also after {@link RedisClient.destroy}. */
  readonly onError: (error: unknown) => void;
}

export type CreateRedisClient = (options: RedisClientOptions) => RedisClient;

/** Deletes a value only if it is still the one that is meant. */
const DELETE_IF_EQUAL = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

/** Loads the library, which takes 150 to 250 ms: only where it is used. */
export const loadRedisClient = async (): Promise<CreateRedisClient> => {
  const { createClient, RESP_TYPES } = await import('redis');
  return ({ url, connectTimeoutMs, onError }) => {
    const redis = createClient({
      url,
      name: 'banks-bff',
      // It neither queues commands nor reconnects by itself.
      disableOfflineQueue: true,
      socket: { reconnectStrategy: false, connectTimeout: connectTimeoutMs },
    });
    // Never removed: an 'error' event without a listener would end the process.
    redis.on('error', onError);
    // A value becomes text only once it is known to be a saved list.
    const binary = redis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    return {
      connect: async () => void (await redis.connect()),
      destroy: () => {
        if (redis.isOpen) redis.destroy();
      },
      ping: async () => void (await redis.ping()),
      set: async (key, value, lifeMs) =>
        void (await redis.set(key, value, { expiration: { type: 'PX', value: lifeMs } })),
      setIfAbsent: async (key, value, lifeMs) =>
        (await redis.set(key, value, { condition: 'NX', expiration: { type: 'PX', value: lifeMs } })) !==
        null,
      deleteIfEqual: async (key, value) =>
        void (await redis.eval(DELETE_IF_EQUAL, { keys: [key], arguments: [value] })),
      read: async (key, maxBytes) => {
        for (;;) {
          // oxlint-disable-next-line no-await-in-loop -- until nobody wrote in between
          const [before, bytes, leftMs] = await Promise.all([
            redis.pTTL(key),
            binary.getRange(key, 0, maxBytes - 1),
            redis.pTTL(key),
          ]);
          // A life that has become longer is another value's: the two would not belong together.
          if (leftMs <= before) return { bytes: bytes ?? Buffer.alloc(0), leftMs };
        }
      },
      publish: async (channel, message) => void (await redis.publish(channel, message)),
      subscribe: async (channel, onMessage) => redis.subscribe(channel, (message) => onMessage(message)),
    };
  };
};
