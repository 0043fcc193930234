import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { SecretSource } from '../config/reader.ts';
import { passwordsIn, toRedisUrl } from '../config/values.ts';
import { createSecretFile } from '../secrets/secret-file.ts';
import { createEnvelope, provenanceId } from './envelope.ts';
import type { ListStore, SharedStore, StoreEvent } from './list-store.ts';
import { createRedisStore } from './redis-store.ts';
import type { RedisConnectionOptions } from './redis-connection.ts';
import { createSnapshotFile, type Files } from './snapshot-file.ts';

// Makes the configured stores of the last good list.

export interface Stores {
  readonly stores: readonly ListStore[];
  /** The one that other replicas use as well. */
  readonly sharedStore: SharedStore | undefined;
}

export interface StoresOptions {
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Measures the deadlines of a real network, even if the list has a clock that is moved by hand. */
  readonly networkClock: Clock;
  /** False with a clock that is moved by hand, which Redis does not follow: Redis then reports no ages. */
  readonly reportsAges: boolean;
  /** The client library's unless given. */
  readonly loadRedisClient?: RedisConnectionOptions['loadClient'];
  /** Node's own unless given. */
  readonly files?: Files | undefined;
  /** Called with each secret that is read from a file. */
  readonly addSecret: (variable: string, secret: string) => void;
  readonly onEvent: (event: StoreEvent) => void;
}

export const createStores = ({ cache, provider, banks }: Config, options: StoresOptions): Stores => {
  const provenance = provenanceId({ ...provider, ...banks });
  const envelope = createEnvelope({
    provenance,
    contract: { ...banks, maxBytes: provider.maxBodyBytes },
    clock: options.networkClock,
  });
  const { snapshotFile, redisUrl } = cache;
  const sharedStore =
    redisUrl &&
    createRedisStore({
      url: createRedisUrl(redisUrl, options.addSecret),
      provenance,
      envelope,
      lifeMs: cache.ttlMs + cache.maxStaleMs,
      clock: options.networkClock,
      loadClient: options.loadRedisClient,
      ...options,
    });
  const stores: ListStore[] =
    snapshotFile === undefined ? [] : [createSnapshotFile(snapshotFile, envelope, options.files)];
  return { stores: sharedStore ? [...stores, sharedStore] : stores, sharedStore };
};

/**
 * Gives the address of Redis. A file is read again each time, so a new password is used at the next connection; it is
 * passed to `addSecret` before it is used. @throws {SecretFileError | InvalidValue} if the file has no usable address
 */
const createRedisUrl = (
  source: SecretSource,
  addSecret: StoresOptions['addSecret'],
): (() => Promise<string>) => {
  if ('reveal' in source) return () => Promise.resolve(source.reveal());
  const variable = 'CACHE_REDIS_URL_FILE';
  const rule = { bearer: false, minChars: 1 };
  const readText = createSecretFile({ variable, path: source.path, rule, addSecret: () => undefined });
  return async () => {
    const url = toRedisUrl(await readText()).reveal();
    for (const password of passwordsIn(url)) addSecret(variable, password);
    return url;
  };
};
