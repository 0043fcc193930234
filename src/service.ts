import type { DestinationStream } from 'pino';
import { createBankList, type BankList } from './banks/bank-list.ts';
import { systemClock, type Clock } from './clock.ts';
import { secretsOf, type Config } from './config/config.ts';
import { createClientAddress, createIsProxy } from './http/client-address.ts';
import { createCors } from './http/cors.ts';
import { createHotPath } from './http/hot/path.ts';
import { createPrepareAnswers } from './http/banks/answers.ts';
import { LIMITS } from './http/listener/limits.ts';
import { createManagementServer } from './operators/server.ts';
import type { ParserRefusal } from './http/listener/parser-errors.ts';
import { createRequestLog } from './http/request-log.ts';
import { createSecurityFields } from './http/security-headers.ts';
import { createPublicServer, listen } from './http/listener/server.ts';
import type { DrainTimes } from './operators/status-page/verdict.ts';
import { createProvider } from './provider/provider.ts';
import { createRedaction, redacting, type Redaction } from './secrets/redaction.ts';
import { createSecretFile } from './secrets/secret-file.ts';
import { MANAGEMENT_TOKEN_RULE } from './secrets/secret-rules.ts';
import { createEnvelope, provenanceId } from './sharing/envelope.ts';
import { createLastGoodList } from './sharing/last-good-list.ts';
import { createFleet } from './sharing/fleet.ts';
import type { ListStore, SharedStore, StoreEvent } from './sharing/list-store.ts';
import { createRedisStore } from './sharing/redis-store.ts';
import { createSnapshotFile } from './sharing/snapshot-file.ts';
import type { ServiceEvent } from './telemetry/events.ts';
import { createHistory } from './telemetry/history.ts';
import { createEventLog, createLogger } from './telemetry/log.ts';
import { createMetrics } from './telemetry/metrics.ts';

// The wiring, and nothing else: who gets what. Two services can live in one process.

export interface ServiceOptions {
  readonly version: string;
  readonly logDestination: DestinationStream;
  /** Learns every secret; for whoever writes something that is not a log line. */
  readonly redaction?: Redaction;
  readonly clock?: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random?: () => number;
}

export interface Service {
  readonly list: BankList;
  /**
   * Restores the last good list, binds the listeners and asks for the first list. Rejects when a port is taken.
   */
  start(): Promise<{ readonly publicUrl: string; readonly operatorsUrl: string | undefined }>;
  /**
   * Drains and closes, inside `SHUTDOWN_GRACE`. For `noticeMs` of it requests are still taken while /readyz says no.
   */
  stop(options: { readonly noticeMs: number }): Promise<void>;
}

export const createService = (config: Config, options: ServiceOptions): Service => {
  const { clock = systemClock, random = Math.random, version } = options;
  const redaction = options.redaction ?? createRedaction();
  for (const [variable, secret] of secretsOf(config)) redaction.hide(variable, secret);
  const logger = createLogger(config.logLevel, redacting(options.logDestination, redaction));
  const log = createEventLog(logger, { fieldsAreChosen: config.banks.fields !== undefined });
  const { stores, sharedStore } = createStores(config, {
    random,
    tellsAges: options.clock === undefined,
    onEvent: (event) => tell(event),
  });
  const metrics = createMetrics({
    status: () => list.status(),
    state: () => list.state(),
    policy: config.cache,
    stores: stores.map(({ name }) => name),
    environment: config.provider.environment,
    version,
  });
  const history = createHistory({ clock, ageMs: () => list.status().ageMs });
  const tell = (event: ServiceEvent): void => {
    log(event);
    metrics.onEvent(event);
    history.onEvent(event);
  };

  const provider = createProvider(config, {
    clock,
    random,
    hide: redaction.hide,
    onEvent: (event) => tell(event),
    /** Tells how long an exchange took, and how it ended. */
    exchange: async (ask) => {
      const startedAtMs = clock.monotonicMs();
      let status: number | undefined;
      try {
        const answer = await ask();
        ({ status } = answer);
        return answer;
      } finally {
        tell({ type: 'provider-called', status, durationMs: clock.monotonicMs() - startedAtMs });
      }
    },
  });
  const lastGoodList = createLastGoodList({
    stores,
    ttlMs: config.cache.ttlMs,
    clock,
    onEvent: tell,
  });
  const fleet =
    sharedStore &&
    createFleet({
      store: sharedStore,
      lastGoodList,
      list: () => list,
      loadTimeoutMs: config.provider.timeoutMs,
      clock,
    });
  const list: BankList = createBankList({
    load: provider.load,
    takeTurn: fleet?.takeTurn,
    loadTimeoutMs: config.provider.timeoutMs,
    policy: config.cache,
    guard: config.guard,
    clock,
    random,
    onEvent: (event) => {
      tell(event);
      if (event.type === 'list-renewed') lastGoodList.keep(event.list, list.status().ageMs ?? 0);
    },
  });

  let drain: DrainTimes | undefined;
  const requestLogOptions = {
    logger,
    destination: options.logDestination,
    redact: redaction.redact,
    clientAddress: createClientAddress(config.trustProxy),
  };
  const requestLog = createRequestLog({
    ...requestLogOptions,
    onFinished: (request) => {
      metrics.onRequest(request);
      history.onRequest(request);
    },
  });
  const face = {
    list,
    version,
    environment: config.provider.environment,
    isDraining: () => drain !== undefined,
  };
  const cors = createCors(config.corsOrigins);
  const securityFields = createSecurityFields(cors);
  const prepareAnswers = createPrepareAnswers({
    list,
    cachePolicy: { ...config.cache, browserMaxAgeMs: config.browserMaxAgeMs },
    variesByOrigin: cors.varies,
  });
  const publicFace = { ...face, requestLog, cors, securityFields, prepareAnswers };
  const onRefusal = (refusal: ParserRefusal): void => logger.info(refusal, 'request refused');
  const publicServer = createPublicServer({
    commonFields: [...securityFields, ...cors.fields(undefined)],
    onRefusal,
    clock,
    isProxy: createIsProxy(config.trustProxy),
    hotPath: createHotPath({ ...publicFace, keepAliveTimeoutMs: LIMITS.keepAliveTimeoutMs }),
  });
  const noCors = createCors([]);
  const managementFace = { cors: noCors, securityFields: createSecurityFields(noCors) };
  const managementServer = createManagementServer({
    commonFields: managementFace.securityFields,
    onRefusal,
    clock,
  });

  /** Express is slow to load, and restoring a list is mostly other threads' work: they go side by side. */
  const loadApps = async (): Promise<void> => {
    const [{ createPublicApp }, { createOperatorsApp }] = await Promise.all([
      import('./http/app.ts'),
      import('./operators/app.ts'),
    ]);
    publicServer.serve(
      createPublicApp({
        ...publicFace,
        server: publicServer,
        fields: config.banks.fields,
      }),
    );
    managementServer.serve(
      createOperatorsApp({
        ...face,
        ...managementFace,
        server: managementServer,
        hosts: config.management.hosts,
        clock,
        // Not counted: nobody's users come here.
        requestLog: createRequestLog(requestLogOptions),
        token: operatorsToken(config, redaction),
        metrics,
        statusPage: {
          wallMs: () => clock.wallMs(),
          policy: config.cache,
          fields: config.banks.fields,
          minutes: () => history.minutes(),
          drain: () => drain,
        },
      }),
    );
  };

  return {
    list,
    start: async () => {
      fleet?.start();
      const [restoredFrom] = await Promise.all([lastGoodList.restoreInto(list), loadApps()]);
      const publicUrl = await listen(publicServer.server, config.listen);
      const operatorsUrl =
        config.management.listen && (await managementServer.listen(config.management.listen));
      logger.info(
        {
          url: publicUrl,
          operatorsUrl,
          environment: config.provider.environment,
          version,
          token: provider.tokenVariable,
          fields: config.banks.fields?.map(({ name }) => name).join(',') ?? 'all',
          lastGoodList: restoredFrom ?? 'none',
        },
        'listening',
      );
      list.start();
      return { publicUrl, operatorsUrl };
    },
    stop: async ({ noticeMs }) => {
      logger.info({ noticeMs: Math.round(noticeMs), graceMs: config.shutdownGraceMs }, 'draining');
      const nowMs = clock.wallMs();
      drain = { acceptsUntilMs: nowMs + noticeMs, endsByMs: nowMs + config.shutdownGraceMs };
      // The operators' listener answers to the end: somebody may be watching the drain.
      await publicServer.drain({ noticeMs, graceMs: config.shutdownGraceMs });
      list.stop();
      managementServer.close();
      await Promise.all([lastGoodList.settled(), provider.close()]);
      fleet?.stop();
      logger.info('stopped');
    },
  };
};

interface Stores {
  readonly stores: readonly ListStore[];
  /** The one of them that other replicas use as well. */
  readonly sharedStore: SharedStore | undefined;
}

const createStores = (
  { cache, provider, banks }: Config,
  reactions: {
    readonly random: () => number;
    readonly tellsAges: boolean;
    readonly onEvent: (event: StoreEvent) => void;
  },
): Stores => {
  const provenance = provenanceId({ ...provider, ...banks });
  const contract = { ...banks, maxBytes: provider.maxBodyBytes };
  const envelope = createEnvelope({ provenance, contract });
  const { snapshotFile, redisUrl } = cache;
  const snapshot = snapshotFile === undefined ? [] : [createSnapshotFile(snapshotFile, envelope)];
  const sharedStore =
    redisUrl &&
    createRedisStore({
      url: redisUrl.reveal(),
      provenance,
      envelope,
      lifeMs: cache.ttlMs + cache.maxStaleMs,
      // Its deadlines are those of a real network, whatever clock the list has.
      clock: systemClock,
      ...reactions,
    });
  return { stores: sharedStore ? [...snapshot, sharedStore] : snapshot, sharedStore };
};

const operatorsToken = (
  { management: { token } }: Config,
  { hide }: Redaction,
): (() => Promise<string>) | undefined => {
  if (token === undefined) return undefined;
  return 'path' in token
    ? createSecretFile({
        variable: 'MANAGEMENT_TOKEN_FILE',
        path: token.path,
        rule: MANAGEMENT_TOKEN_RULE,
        hide,
      })
    : () => Promise.resolve(token.reveal());
};
