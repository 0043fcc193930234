import { createBankList } from './banks/bank-list.ts';
import type { SavedList } from './banks/cached-list.ts';
import type { ListEvent } from './banks/list-event.ts';
import { createListKeeper, type ListKeeper } from './banks/list-keeper.ts';
import { createSoleReplica } from './banks/loading/fleet.ts';
import { createRenewal } from './banks/loading/renewal.ts';
import { createRetryAfter, type RetryAfter } from './banks/loading/retry-after.ts';
import type { Compressors } from './banks/representation.ts';
import type { Clock } from './clock.ts';
import { secretSourcesOf, type Config } from './config/config.ts';
import { createProvider, type ProviderOptions } from './provider/provider.ts';
import { createSecrets, type Secrets } from './secrets/secrets.ts';
import { createEnvelope, provenanceId } from './sharing/envelope.ts';
import { createStoreReport, type StoreName } from './sharing/store-report.ts';
import type { RedisConnectionOptions } from './sharing/redis-connection.ts';
import { createRedisFleet } from './sharing/redis-fleet.ts';
import { createRedisStore } from './sharing/redis-store.ts';
import { createSharedLease } from './sharing/shared-lease.ts';
import { createSigning } from './sharing/signing.ts';
import { createSnapshotFile, type Files } from './sharing/snapshot-file.ts';
import type { ServiceEvent } from './telemetry/events.ts';

// The cached list with all that keeps it: the provider that it is loaded from, the stores that it
// is saved in, the replicas that it is shared with. Everything but HTTP towards clients. What
// surrounds it can be handed in, so that a simulation can decide when each thing happens.

export interface CoreOptions {
  readonly version: string;
  readonly clock: Clock;
  /**
   * Measures the deadlines of real input and output, which do not follow a `clock` that is moved by
   * hand; `clock` unless given.
   */
  readonly ioClock?: Clock | undefined;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Is given each secret before it is used, so that it is redacted from all output. */
  readonly addSecret: (variable: string, secret: string) => void;
  /** Whose secret a piece of a list contains: such a list is refused, and never saved. */
  readonly findEcho: (json: string) => string | undefined;
  readonly emit: (event: ServiceEvent) => void;
  // What stands for DNS, the provider, Redis, disk, secret files and compression; the real ones
  // unless given.
  readonly lookup?: ProviderOptions['lookup'];
  readonly exchange?: ProviderOptions['exchange'];
  readonly loadRedisClient?: RedisConnectionOptions['loadClient'];
  readonly files?: Files | undefined;
  readonly compressors?: Compressors | undefined;
}

export type Core = ReturnType<typeof createCore>;

export const createCore = (config: Config, options: CoreOptions) => {
  const { clock, random, compressors, addSecret, emit } = options;
  const secrets = createSecrets({
    ...secretSourcesOf(config),
    addSecret,
    clock,
    onEvent: emit,
  });
  const provider = createProvider(config, { ...options, secrets, onEvent: emit });
  const saving = createSaving(config, secrets, options);
  const onEvent = (event: ListEvent): void => {
    emit(event);
    if ('list' in event) snapshot?.save(event.list);
  };
  const keeper = createListKeeper({
    policy: config.cache,
    guard: { ...config.guard, fields: config.banks.fields },
    clock,
    compressors,
    onEvent,
  });
  const snapshot = createSnapshot(config, saving, keeper, options);
  const retryAfter = createRetryAfter({
    loadTimeoutMs: config.provider.timeoutMs,
    ttlMs: config.cache.ttlMs,
    keeper,
    clock,
  });
  const redisFleet = createFleet({ config, saving, keeper, retryAfter, secrets, options });
  const renewal = createRenewal({
    load: async (signal) => {
      const loaded = await provider.load(signal);
      return () => Promise.resolve(loaded);
    },
    loadTimeoutMs: config.provider.timeoutMs,
    ttlMs: config.cache.ttlMs,
    keeper,
    fleet: redisFleet ?? createSoleReplica(keeper),
    retryAfter,
    clock,
    random,
    onEvent,
  });
  const list = createBankList({
    keeper,
    renewal,
    hasReplicas: redisFleet !== undefined,
    loadTimeoutMs: config.provider.timeoutMs,
    clock,
  });

  const restore = async (): Promise<StoreName | undefined> => {
    redisFleet?.open(renewal.onNews);
    const saved = await snapshot?.restore();
    await redisFleet?.synchronize();
    const cached = keeper.cache.get();
    if (!cached) return undefined;
    return cached.id === saved?.id ? 'CACHE_SNAPSHOT_FILE' : 'CACHE_REDIS_URL';
  };
  let restoring: Promise<StoreName | undefined> | undefined;
  return {
    list,
    /** The secrets in files, of all parts. */
    secrets,
    /** The configured stores. */
    stores: storeNames(config),
    /** The variable to check if the provider rejects the access token. */
    tokenVariable: provider.token.variable,
    /**
     * Reads all secret files again, and asks for a new token if tokens are granted. What fails
     * leaves the current secret in use. @returns what failed, a sentence each
     */
    renewSecrets: async (): Promise<readonly string[]> => {
      const unusable = await secrets.check();
      const tokenProblem = await provider.token.renew();
      return [
        ...unusable.map(
          ({ variable, problem, consequence }) => `${variable} ${problem}; ${consequence}`,
        ),
        ...(tokenProblem === undefined ? [] : [tokenProblem]),
      ];
    },
    /**
     * Connects to the other replicas and restores the saved list. @returns the store that had it
     */
    restore: (): Promise<StoreName | undefined> => (restoring = restore()),
    /** Loads the list unless a fresh one was restored, and keeps renewing it. */
    start: renewal.start,
    /** Ends the load under way, and resolves once nothing is called, written or timed any more. */
    stop: async (): Promise<void> => {
      const stopped = renewal.stop();
      provider.close();
      await Promise.all([stopped, restoring]);
      await redisFleet?.stop();
      await snapshot?.stop();
    },
  };
};

const storeNames = ({ cache }: Config): readonly StoreName[] => [
  ...(cache.snapshotFile === undefined ? [] : (['CACHE_SNAPSHOT_FILE'] as const)),
  ...(cache.redisUrl ? (['CACHE_REDIS_URL'] as const) : []),
];

/** What all saved lists have in common. */
const createSaving = (
  { cache, provider, banks }: Config,
  secrets: Secrets,
  { clock, ioClock = clock, findEcho }: CoreOptions,
) => {
  const signing = createSigning(cache.signingKey && (() => secrets.read('CACHE_SIGNING_KEY')));
  const envelope = createEnvelope({
    provenance: provenanceId({ ...provider, ...banks }),
    contract: { ...banks, maxBytes: provider.maxBodyBytes, findEcho },
    signing,
    ttlMs: cache.ttlMs,
    clock: ioClock,
  });
  return { signing, envelope };
};

type Saving = ReturnType<typeof createSaving>;

const createSnapshot = (
  { cache: { snapshotFile } }: Config,
  { envelope }: Saving,
  keeper: ListKeeper,
  { clock, files, emit }: CoreOptions,
) => {
  if (snapshotFile === undefined) return undefined;
  const report = createStoreReport('CACHE_SNAPSHOT_FILE', emit);
  /**
   * Takes what the snapshot has. A second time the wall clock went back since then. That gives a
   * list back which seemed too old to be served; one that is served stays as it is: which of the
   * times is right, nobody knows.
   */
  const take = async (saved: SavedList): Promise<void> => {
    const cached = keeper.cache.get();
    const isTooOld = cached?.id === saved.id && cached.isUnconfirmed && !keeper.cache.served();
    if (!cached || isTooOld) await keeper.takeSaved(saved, cached);
  };
  return createSnapshotFile({ path: snapshotFile, envelope, take, clock, report, files });
};

interface FleetParts {
  readonly config: Config;
  readonly saving: Saving;
  readonly keeper: ListKeeper;
  readonly retryAfter: RetryAfter;
  readonly secrets: Secrets;
  readonly options: CoreOptions;
}

/** The replicas that share the list in Redis; undefined without Redis. */
const createFleet = ({ config, saving, keeper, retryAfter, secrets, options }: FleetParts) => {
  const { cache, provider } = config;
  const { signing, envelope } = saving;
  const { clock, ioClock = clock, random, loadRedisClient, emit } = options;
  if (!cache.redisUrl) return undefined;
  const report = createStoreReport('CACHE_REDIS_URL', emit);
  const store = createRedisStore({
    // A file is read again each time, so a new password is used at the next connection.
    url: () => secrets.read('CACHE_REDIS_URL'),
    envelope,
    signing,
    listLifeMs: cache.ttlMs + cache.maxStaleMs,
    longestLeaseMs:
      Math.max(cache.ttlMs, LONGEST_LEASE_ELSEWHERE_MS, provider.timeoutMs) + LEASE_MARGIN_MS,
    clock,
    ioClock,
    random,
    report,
    loadClient: loadRedisClient,
  });
  const loadTimeoutMs = provider.timeoutMs;
  const lease = createSharedLease({ store, retryAfter, keeper, loadTimeoutMs, clock });
  return createRedisFleet({ store, lease, keeper, report });
};

/** Other replicas may have a longer `CACHE_TTL`, and so obey a longer `Retry-After`. */
const LONGEST_LEASE_ELSEWHERE_MS = 24 * 60 * 60_000;
/** What is added to a load or a wait when a lease is written. */
const LEASE_MARGIN_MS = 60_000;
