import { randomUUID } from 'node:crypto';
import { ENVELOPE_VERSION, tooLarge, type Envelope } from './envelope.ts';
import type { SharedStore } from './list-store.ts';
import { createRedisConnection, type RedisConnectionOptions } from './redis-connection.ts';

// The list that replicas share in Redis or Valkey, 6 or newer: RESP3 carries commands and messages on one connection.

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'handshake'> {
  /** From {@link import('./envelope.ts').provenanceId}. */
  readonly provenance: string;
  readonly envelope: Envelope;
  /** Milliseconds after which Redis deletes a list, counted from when the provider sent it. */
  readonly lifeMs: number;
  /** False with a clock that is moved by hand, which Redis does not follow: Redis then reports no ages. */
  readonly reportsAges?: boolean;
}

/** Deletes the lease only if it is still ours: after a pause another replica may hold it. */
const RELEASE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

export const createRedisStore = (options: RedisStoreOptions): SharedStore => {
  const { provenance, envelope, lifeMs, reportsAges = true } = options;
  // Other versions and other configurations use other keys, so that a rolling deployment can have both.
  const prefix = `banks-bff:${ENVELOPE_VERSION}:${provenance}`;
  const keys = { list: `${prefix}:list`, lease: `${prefix}:lease`, probe: `${prefix}:probe` };
  const channel = `${prefix}:news`;
  /** Identifies this replica as the sender of messages and the owner of the lease. */
  const ownId = randomUUID();
  const ownLease = { keys: [keys.lease], arguments: [ownId] };
  let notify = (): void => {};

  const connection = createRedisConnection({
    ...options,
    handshake: async (redis) => {
      // Nothing can be shared through a server that is read-only or full.
      await redis.set(keys.probe, ownId, { expiration: { type: 'PX', value: 1_000 } });
      // A claim that was never answered may still have been granted.
      await redis.eval(RELEASE, ownLease);
      await redis.subscribe(channel, (sender) => {
        if (sender !== ownId) notify();
      });
    },
  });

  return {
    name: 'CACHE_REDIS_URL',
    open: (onChange) => {
      notify = onChange;
      connection.open(onChange);
    },
    close: () => connection.close(),
    read: async () => {
      // The remaining life first: if another list is written in between, it seems older than it is, never younger.
      const [leftMs, bytes] = await connection.run((redis, binary) =>
        Promise.all([redis.pTTL(keys.list), binary.getRange(keys.list, 0, envelope.maxBytes)]),
      );
      if (bytes === null || bytes.length === 0) return undefined;
      if (bytes.length > envelope.maxBytes) throw tooLarge(envelope.maxBytes);
      const opened = await envelope.open(bytes);
      // PTTL is negative if the key has no expiry or is gone.
      const isKnown = reportsAges && leftMs >= 0;
      return { list: opened.list, ageMs: isKnown ? (opened.lifeMs ?? lifeMs) - leftMs : undefined };
    },
    write: async (list, ageMs) => {
      // The remaining life also gives the other replicas the list's age, whatever their clocks show.
      const expiration = { type: 'PX', value: Math.max(1, Math.round(lifeMs - ageMs)) } as const;
      await connection.run((redis) => redis.set(keys.list, envelope.seal(list, lifeMs), { expiration }));
      await connection.run((redis) => redis.publish(channel, ownId));
    },
    claim: async (forMs) => {
      const expiration = { type: 'PX', value: forMs } as const;
      const answer = await connection.run((redis) =>
        redis.set(keys.lease, ownId, { condition: 'NX', expiration }),
      );
      if (answer === null) return undefined;
      return async () => {
        // A lease that cannot be released expires.
        await connection.run((redis) => redis.eval(RELEASE, ownLease)).catch(() => undefined);
      };
    },
  };
};
