import { createBankList, type BankList } from './banks/bank-list.ts';
import { LoadError } from './banks/load-error.ts';
import { WITHOUT_LEASE } from './banks/loading/loading.ts';
import type { Compressors } from './banks/representation.ts';
import type { Clock } from './clock.ts';
import { secretCheckIn, type Config } from './config/config.ts';
import { createProvider, type ProviderOptions } from './provider/provider.ts';
import { createSecretFiles, type SecretFiles } from './secrets/secret-files.ts';
import { createEnvelope, provenanceId } from './sharing/envelope.ts';
import { createFleet } from './sharing/fleet.ts';
import { createLastGoodList } from './sharing/last-good-list.ts';
import type { ListStore, StoreName } from './sharing/list-store.ts';
import type { RedisConnectionOptions } from './sharing/redis-connection.ts';
import { createRedisStore, createRedisUrl } from './sharing/redis-store.ts';
import { createSnapshotFile, type Files } from './sharing/snapshot-file.ts';
import type { ServiceEvent } from './telemetry/events.ts';

// The cached list with all that keeps it: the provider that it is loaded from, the stores that it is saved in, the replicas
// that it is shared with. Everything but HTTP towards clients. What surrounds it can be handed in, so that a simulation
// can decide when each thing happens.

export interface CoreOptions extends Omit<ProviderOptions, 'onEvent' | 'secrets'> {
  /** Measures the deadlines of a real network, where `clock` is moved by hand, which a real network does not follow. */
  readonly networkClock?: Clock | undefined;
  readonly emit: (event: ServiceEvent) => void;
  // What stands for Redis, disk and compression; the real ones unless given.
  readonly loadRedisClient?: RedisConnectionOptions['loadClient'];
  readonly files?: Files;
  readonly compressors?: Compressors;
}

export type Core = ReturnType<typeof createCore>;

export const createCore = (config: Config, options: CoreOptions) => {
  const { clock, random, compressors, addSecret, emit } = options;
  const problemOf = secretCheckIn(config.provider.environment);
  const secrets = createSecretFiles({ problemOf, addSecret, clock, onEvent: emit });
  const { stores, sharedStore } = createStores(config, secrets, options);
  const provider = createProvider(config, { ...options, secrets, onEvent: emit });
  // The list, its stores and the fleet need each other; none uses another one before all are made.
  const list: BankList = createBankList({
    load: provider.load,
    takeTurn: async (wanted) => fleet?.takeTurn(wanted) ?? WITHOUT_LEASE,
    loadTimeoutMs: config.provider.timeoutMs,
    policy: config.cache,
    guard: { ...config.guard, fields: config.banks.fields },
    clock,
    random,
    compressors,
    onEvent: (event) => {
      emit(event);
      if (event.type === 'list-renewed') lastGoodList.save();
    },
  });
  const lastGoodList = createLastGoodList({ stores, list, clock, onEvent: emit });
  const fleet =
    sharedStore &&
    createFleet({ store: sharedStore, lastGoodList, loadTimeoutMs: config.provider.timeoutMs, clock });
  let restoring: Promise<StoreName | undefined> | undefined;
  return {
    list,
    /** The secrets in files, of all parts. */
    secrets,
    /** The configured stores. */
    stores: stores.map(({ name }) => name),
    /** The variable for an operator to check when the provider rejects the token. */
    tokenVariable: provider.tokenVariable,
    tokenAccepted: provider.tokenAccepted,
    /**
     * Reads all secret files again, and requests a new token where tokens are granted; what is in use stays if that fails.
     * @returns what is wrong, a sentence each; none: the next load uses what was read
     */
    renewSecrets: async (): Promise<readonly string[]> => {
      const files = await secrets.check();
      const problems = files.map(
        ({ variable, problem, consequence }) => `${variable} ${problem}; ${consequence}`,
      );
      try {
        await provider.renewToken();
      } catch (error) {
        problems.push(`${LoadError.from(error).message}; the token in use stays`);
      }
      return problems;
    },
    /** Connects to the other replicas and restores the last good list. @returns the store that had it */
    restore: (): Promise<StoreName | undefined> => {
      fleet?.start();
      restoring = lastGoodList.restore();
      return restoring;
    },
    /** Loads the list unless a fresh one was restored, and keeps renewing it. */
    start: (): void => list.start(),
    /** Ends the load under way, and resolves once nothing is called, written or timed any more. */
    stop: async (): Promise<void> => {
      list.stop();
      provider.close();
      await Promise.all([restoring, fleet?.stop()]);
      await lastGoodList.onSettled();
    },
  };
};

/** The configured stores of the last good list, and the one that other replicas use as well. */
const createStores = ({ cache, provider, banks }: Config, secrets: SecretFiles, options: CoreOptions) => {
  const { clock, networkClock = clock } = options;
  const envelope = createEnvelope({
    provenance: provenanceId({ ...provider, ...banks }),
    contract: { ...banks, maxBytes: provider.maxBodyBytes },
    clock: networkClock,
  });
  const { snapshotFile, redisUrl, signingKey } = cache;
  if (signingKey) secrets.reader('CACHE_SIGNING_KEY', signingKey);
  const sharedStore =
    redisUrl &&
    createRedisStore({
      url: createRedisUrl(redisUrl, secrets),
      envelope,
      lifeMs: cache.ttlMs + cache.maxStaleMs,
      clock: networkClock,
      random: options.random,
      reportsAges: networkClock === clock,
      onEvent: options.emit,
      loadClient: options.loadRedisClient,
    });
  const stores: ListStore[] = [];
  if (snapshotFile !== undefined) stores.push(createSnapshotFile(snapshotFile, envelope, options.files));
  if (sharedStore) stores.push(sharedStore);
  return { stores, sharedStore };
};
