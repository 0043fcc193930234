import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createEnvelope, provenanceId } from './envelope.ts';
import type { ListStore, SharedStore, StoreEvent } from './list-store.ts';
import { createRedisStore } from './redis-store.ts';
import { createRedisUrl } from './redis-url.ts';
import { createSnapshotFile } from './snapshot-file.ts';

// Makes the configured stores of the last good list.

export interface Stores {
  readonly stores: readonly ListStore[];
  /** The one that other replicas use as well. */
  readonly sharedStore: SharedStore | undefined;
}

export interface StoresOptions {
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** False with a clock that is moved by hand, which Redis does not follow: Redis then reports no ages. */
  readonly reportsAges: boolean;
  /** Called with each secret that is read from a file. */
  readonly addSecret: (variable: string, secret: string) => void;
  readonly onEvent: (event: StoreEvent) => void;
}

export const createStores = ({ cache, provider, banks }: Config, options: StoresOptions): Stores => {
  const provenance = provenanceId({ ...provider, ...banks });
  const envelope = createEnvelope({ provenance, contract: { ...banks, maxBytes: provider.maxBodyBytes } });
  const { snapshotFile, redisUrl } = cache;
  const sharedStore =
    redisUrl &&
    createRedisStore({
      url: createRedisUrl(redisUrl, options.addSecret),
      provenance,
      envelope,
      lifeMs: cache.ttlMs + cache.maxStaleMs,
      // Its deadlines are those of a real network, even if the list has a clock that is moved by hand.
      clock: systemClock,
      ...options,
    });
  const stores: ListStore[] = snapshotFile === undefined ? [] : [createSnapshotFile(snapshotFile, envelope)];
  return { stores: sharedStore ? [...stores, sharedStore] : stores, sharedStore };
};
