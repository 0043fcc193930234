import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ListStatus } from '../banks/bank-list.ts';
import { STATES, type Freshness, type FreshnessPolicy } from '../banks/freshness.ts';
import { LOAD_ERROR_KINDS } from '../banks/load-error.ts';
import { NOTHING_REJECTED, REJECTION_REASONS } from '../banks/reading/entry.ts';
import { countFilled } from '../banks/reading/profile.ts';
import type { PublishedField } from '../config/values.ts';
import type { FinishedRequest } from '../http/request-log.ts';
import type { StoreName } from '../sharing/list-store.ts';
import type { ServiceEvent } from './events.ts';
import { createRequestDurations } from './request-durations.ts';

// The service in numbers, for Prometheus. Every label's values are a closed set, so that no client and no provider can
// make the series grow. What is a state is asked when it is scraped; only what passes is counted.

export interface Metrics {
  readonly contentType: string;
  onEvent(event: ServiceEvent): void;
  onRequest(request: FinishedRequest): void;
  /** A request to the management port was refused. */
  onManagementRefusal(reason: ManagementRefusal): void;
  /** All metrics in Prometheus's text format. */
  exposition(): Promise<string>;
}

/** Why a request to the management port is refused. */
const MANAGEMENT_REFUSALS = ['host', 'cross_origin', 'no_token', 'wrong_token', 'too_many_attempts'] as const;
export type ManagementRefusal = (typeof MANAGEMENT_REFUSALS)[number];

export interface MetricsOptions {
  readonly status: () => ListStatus;
  /** Its state alone, which each request asks for. */
  readonly state: () => Freshness;
  readonly policy: FreshnessPolicy;
  /** The configured fields: names that the provider chooses are not a closed set. */
  readonly fields: readonly PublishedField[];
  /** Those that are configured. */
  readonly stores: readonly StoreName[];
  readonly environment: string;
  readonly version: string;
}

export const createMetrics = (options: MetricsOptions): Metrics => {
  // One for each service: two can live in one process.
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);

  defineListGauges(registry, options);
  new Gauge({
    name: 'banks_build_info',
    help: 'Always 1; the labels tell what runs',
    labelNames: ['version', 'environment'],
    registers,
  }).set({ version: options.version, environment: options.environment }, 1);

  const refreshes = new Counter({
    name: 'banks_refreshes_total',
    help: 'Attempts to renew the list, by outcome: changed, unchanged, not_modified, or the kind of the failure',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of [...SUCCESSES, ...LOAD_ERROR_KINDS]) refreshes.inc({ outcome }, 0);

  const providerCalls = new Histogram({
    name: 'banks_upstream_call_duration_seconds',
    help: 'Exchanges with the provider, to the last byte of the body, by the class of its answer; none: no whole answer',
    labelNames: ['status'],
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  for (const status of ['2xx', '3xx', '4xx', '5xx', 'none']) providerCalls.zero({ status });

  const tokenRenewals = new Counter({
    name: 'banks_token_renewals_total',
    help: 'Requests to the token endpoint, by outcome: renewed or failed',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['renewed', 'failed']) tokenRenewals.inc({ outcome }, 0);

  const storeFailures = new Counter({
    name: 'banks_store_failures_total',
    help: 'Failures to read or to keep the last good list, by store: snapshot or redis',
    labelNames: ['store'],
    registers,
  });
  const storeUp = new Gauge({
    name: 'banks_store_up',
    help: '1 while a configured store of the last good list works, 0 after a failure',
    labelNames: ['store'],
    registers,
  });
  for (const name of options.stores) {
    storeFailures.inc({ store: STORE_LABELS[name] }, 0);
    storeUp.set({ store: STORE_LABELS[name] }, 1);
  }

  const managementRefusals = new Counter({
    name: 'banks_management_refusals_total',
    help: 'Requests to the management port that were refused, by reason',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of MANAGEMENT_REFUSALS) managementRefusals.inc({ reason }, 0);

  const requests = createRequestDurations();
  // Counted by hand for the same reason as those.
  const servedBy: Record<Freshness, number> = { empty: 0, fresh: 0, stale: 0, expired: 0 };
  registry.registerMetric(
    new Counter({
      name: 'banks_served_total',
      help: 'Requests for the list, by its state: fresh and stale were answered with it, empty and expired with an error',
      labelNames: ['state'],
      registers: [],
      collect() {
        this.reset();
        for (const state of STATES) this.inc({ state }, servedBy[state]);
      },
    }),
  );

  return {
    contentType: registry.contentType,
    exposition: async () => `${await registry.metrics()}\n${requests.exposition()}`,
    onRequest: ({ path, method, status, durationMs, aborted }) => {
      requests.observe(
        ROUTES.has(path) ? path : 'other',
        METHODS.has(method) ? method : 'other',
        aborted ? 'aborted' : statusClass(status),
        durationMs / 1_000,
      );
      const isAnswerOfList = status === 200 || status === 304 || status >= 500;
      if (path === '/banks' && isAnswerOfList && !aborted) servedBy[options.state()] += 1;
    },
    onManagementRefusal: (reason) => managementRefusals.inc({ reason }),
    onEvent: (event) => {
      switch (event.type) {
        case 'list-renewed':
          refreshes.inc({ outcome: event.outcome });
          break;
        case 'list-load-failed':
          refreshes.inc({ outcome: event.error.kind });
          break;
        case 'provider-called':
          providerCalls.observe({ status: statusClass(event.status) }, event.durationMs / 1_000);
          break;
        case 'token-renewed':
          tokenRenewals.inc({ outcome: 'renewed' });
          break;
        case 'token-renewal-failed':
          tokenRenewals.inc({ outcome: 'failed' });
          break;
        case 'store-failed':
          storeFailures.inc({ store: STORE_LABELS[event.store] });
          storeUp.set({ store: STORE_LABELS[event.store] }, 0);
          break;
        case 'store-recovered':
        case 'store-empty':
          storeUp.set({ store: STORE_LABELS[event.store] }, 1);
          break;
        case 'list-restored':
          break;
      }
    },
  };
};

/** Gauges of prom-client's whose names end like a counter's, which Prometheus's conventions forbid; each has a twin. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

const ROUTES = new Set(['/banks', '/healthz', '/readyz', '/openapi.json']);
const METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

const SUCCESSES = ['changed', 'unchanged', 'not_modified'] as const;

const STORE_LABELS = {
  CACHE_SNAPSHOT_FILE: 'snapshot',
  CACHE_REDIS_URL: 'redis',
} as const satisfies Record<StoreName, string>;

/** What the list is at the moment of the scrape. A figure that there is none of has no sample. */
const defineListGauges = (registry: Registry, { status, policy, fields }: MetricsOptions): void => {
  const gauge = (name: string, help: string, value: (status: ListStatus) => number | undefined): void => {
    registry.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          const now = value(status());
          if (now === undefined) this.remove();
          else this.set(now);
        },
      }),
    );
  };
  gauge('banks_list_age_seconds', 'Time since the provider sent the held list', ({ ageMs }) =>
    ageMs === undefined ? undefined : ageMs / 1_000,
  );
  gauge('banks_list_ttl_seconds', 'Age from which the list is stale', () => policy.ttlMs / 1_000);
  gauge(
    'banks_list_max_stale_seconds',
    'How long past its TTL the list may still be served',
    () => policy.maxStaleMs / 1_000,
  );
  gauge('banks_list_entries', 'Banks in the held list', ({ held }) => held?.count ?? 0);
  gauge(
    'banks_list_last_success_timestamp_seconds',
    'When the provider sent the held list',
    ({ held }) => held && held.receivedAtMs / 1_000,
  );
  registry.registerMetric(
    new Gauge({
      name: 'banks_list_rejected_entries',
      help: 'Entries of the newest list that were unusable and are not served, by reason',
      labelNames: ['reason'],
      registers: [],
      collect() {
        const { rejected = NOTHING_REJECTED } = status().held ?? {};
        for (const reason of REJECTION_REASONS) this.set({ reason }, rejected[reason]);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'banks_list_field_filled_share',
      help: 'Share of the cached list, 0 to 1, in which a field of BANK_FIELDS is neither missing, null nor empty',
      labelNames: ['field'],
      registers: [],
      collect() {
        const { held } = status();
        for (const { name } of held && held.count > 0 ? fields : [])
          this.set({ field: name }, countFilled(held?.profile.get(name)) / (held?.count ?? 1));
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'banks_list_state',
      help: '1 for the state that the list is in: empty, fresh, stale or expired',
      labelNames: ['state'],
      registers: [],
      collect() {
        const now = status().state;
        for (const state of STATES) this.set({ state }, state === now ? 1 : 0);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'banks_refresh_failing',
      help: '1 for the kind of the newest failure while no success has followed it',
      labelNames: ['kind'],
      registers: [],
      collect() {
        const now = status().failure?.kind;
        for (const kind of LOAD_ERROR_KINDS) this.set({ kind }, kind === now ? 1 : 0);
      },
    }),
  );
};

const statusClass = (status = 0): string => STATUS_CLASSES[Math.floor(status / 100)] ?? 'none';
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'];
