import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createEnvelope, provenanceId } from './envelope.ts';
import type { ListStore, SharedStore, StoreEvent } from './list-store.ts';
import { createRedisStore } from './redis-store.ts';
import { createSnapshotFile } from './snapshot-file.ts';

// The configured stores of the last good list.

export interface Stores {
  readonly stores: readonly ListStore[];
  /** The one of them that other replicas use as well. */
  readonly sharedStore: SharedStore | undefined;
}

export interface StoresOptions {
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Whether Redis may tell how old its list is: not beside a clock that is moved by hand. */
  readonly tellsAges: boolean;
  readonly onEvent: (event: StoreEvent) => void;
}

export const createStores = ({ cache, provider, banks }: Config, options: StoresOptions): Stores => {
  const provenance = provenanceId({ ...provider, ...banks });
  const envelope = createEnvelope({ provenance, contract: { ...banks, maxBytes: provider.maxBodyBytes } });
  const { snapshotFile, redisUrl } = cache;
  const sharedStore =
    redisUrl &&
    createRedisStore({
      url: redisUrl.reveal(),
      provenance,
      envelope,
      lifeMs: cache.ttlMs + cache.maxStaleMs,
      // Its deadlines are those of a real network, whatever clock the list has.
      clock: systemClock,
      ...options,
    });
  const stores: ListStore[] = snapshotFile === undefined ? [] : [createSnapshotFile(snapshotFile, envelope)];
  return { stores: sharedStore ? [...stores, sharedStore] : stores, sharedStore };
};
