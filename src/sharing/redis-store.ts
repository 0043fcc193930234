import { randomUUID } from 'node:crypto';
import { passwordsIn } from '../config/values.ts';
import type { SecretFiles, SecretSource } from '../secrets/secret-files.ts';
import { ENVELOPE_VERSION, type Envelope } from './envelope.ts';
import type { SharedStore } from './list-store.ts';
import { createRedisConnection, type RedisConnectionOptions } from './redis-connection.ts';

// The list that replicas share in Redis or Valkey, 6 or newer: RESP3 carries commands and messages on one connection.

export interface RedisStoreOptions extends Omit<RedisConnectionOptions, 'handshake'> {
  readonly envelope: Envelope;
  /** Milliseconds after which Redis deletes a list, counted from when the provider sent it. */
  readonly lifeMs: number;
  /** False with a clock that is moved by hand, which Redis does not follow: Redis then reports no ages. */
  readonly reportsAges?: boolean;
}

export const createRedisStore = (options: RedisStoreOptions): SharedStore => {
  const { url, envelope, lifeMs, reportsAges = true, clock, random, onEvent, loadClient } = options;
  // Other versions and other configurations use other keys, so that a rolling deployment can have both.
  const prefix = `banks-bff:${ENVELOPE_VERSION}:${envelope.provenance}`;
  const keys = { list: `${prefix}:list`, lease: `${prefix}:lease`, probe: `${prefix}:probe` };
  const channel = `${prefix}:news`;
  /** Identifies this replica as the sender of messages and the owner of the lease. */
  const ownId = randomUUID();
  let notify = (): void => {};

  const connection = createRedisConnection({
    url,
    clock,
    random,
    onEvent,
    loadClient,
    handshake: async (redis) => {
      // Nothing can be shared through a server that is read-only or full.
      await redis.set(keys.probe, ownId, 1_000);
      // A claim that was never answered may still have been granted.
      await redis.deleteIfEqual(keys.lease, ownId);
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
    close: connection.close,
    isConnected: connection.isOpen,
    read: async () => {
      const { leftMs, bytes } = await connection.run((redis) => redis.read(keys.list, envelope.maxBytes + 1));
      if (bytes.length === 0) return undefined;
      const opened = await envelope.open(bytes);
      const isKnown = reportsAges && leftMs >= 0;
      return { list: opened.list, ageMs: isKnown ? (opened.lifeMs ?? lifeMs) - leftMs : undefined };
    },
    write: async (list, ageMs) => {
      // The remaining life also gives the other replicas the list's age, whatever their clocks show.
      const leftMs = Math.max(1, Math.round(lifeMs - ageMs));
      await connection.run((redis) => redis.set(keys.list, envelope.seal(list, lifeMs), leftMs));
      await connection.run((redis) => redis.publish(channel, ownId));
    },
    claim: async (forMs) => {
      const isGranted = await connection.run((redis) => redis.setIfAbsent(keys.lease, ownId, forMs));
      if (!isGranted) return undefined;
      return async () => {
        // A lease that cannot be released expires.
        await connection.run((redis) => redis.deleteIfEqual(keys.lease, ownId), false).catch(() => undefined);
      };
    },
  };
};

/**
 * Gives the address of Redis. A file is read again each time, so a new password is used at the next connection.
 * @throws {SecretFileError} if the file has never had a usable address
 */
export const createRedisUrl = (
  source: SecretSource,
  secrets: Pick<SecretFiles, 'reader'>,
): (() => Promise<string>) => secrets.reader('CACHE_REDIS_URL', source, passwordsIn);
