import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ListStatus } from '../banks/bank-list.ts';
import { STATES, type FreshnessPolicy } from '../banks/freshness.ts';
import { LOAD_ERROR_KINDS } from '../banks/load-error.ts';
import { NOTHING_REJECTED } from '../banks/reading/entry.ts';
import { countFilled } from '../banks/reading/profile.ts';
import type { StoreName } from '../sharing/list-store.ts';
import type { RequestEvent, ServiceEvent } from './events.ts';
import { createRequestDurations } from './request-durations.ts';

// The service in numbers, for Prometheus. Each label has a closed set of values, so neither a client nor the provider can
// create new series. Events are counted in plain numbers, which costs a request next to nothing; everything is read at the
// scrape.

export interface Metrics {
  readonly contentType: string;
  onEvent(event: ServiceEvent): void;
  /** Counts a refused request to the management port. */
  onManagementRefusal(reason: ManagementRefusal): void;
  /** All metrics in Prometheus's text format. */
  exposition(): Promise<string>;
}

/** Why a request to the management port was refused. */
const MANAGEMENT_REFUSALS = ['host', 'cross_origin', 'no_token', 'wrong_token', 'too_many_attempts'] as const;
export type ManagementRefusal = (typeof MANAGEMENT_REFUSALS)[number];

export interface MetricsOptions {
  readonly status: () => ListStatus;
  readonly policy: FreshnessPolicy;
  /** The published names, where they are configured: names that the provider chooses are not a closed set. */
  readonly fields: readonly string[];
  /** The stores that are configured. */
  readonly stores: readonly StoreName[];
  readonly environment: string;
  readonly version: string;
}

export const createMetrics = (options: MetricsOptions): Metrics => {
  // Not prom-client's global registry: two services can live in one process.
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  defineBuildInfo(registry, options);
  defineListGauges(registry, options);
  const counters = defineCounters(registry, options.stores);
  const storeUp = new Map(options.stores.map((name) => [STORE_LABELS[name], 1]));
  define(
    Gauge,
    registry,
    'banks_store_up',
    '1 while a configured store works, 0 after a failure',
    () => storeUp,
    'store',
  );
  const providerCalls = defineProviderCalls(registry);
  const requestDurations = createRequestDurations();

  const onRequest = (event: RequestEvent): void => {
    const { route, answeredBy, method, status, durationMs, aborted, listState } = event;
    counters.requests(answeredBy);
    if (listState && !aborted) counters.served(listState);
    if (event.waited) counters.waits(status < 500 ? 'served' : 'failed');
    if (event.isRefusedOrigin) counters.corsRefusals(method === 'OPTIONS' ? 'preflight' : 'request');
    const methodLabel = METHODS.has(method) ? method : 'other';
    const statusLabel = aborted ? 'aborted' : statusClass(status);
    requestDurations.observe(route, methodLabel, statusLabel, durationMs / 1_000);
  };

  return {
    contentType: registry.contentType,
    exposition: async () => `${await registry.metrics()}\n${requestDurations.exposition()}`,
    onManagementRefusal: counters.managementRefusals,
    onEvent: (event) => {
      switch (event.type) {
        case 'request-finished':
          onRequest(event);
          break;
        case 'list-renewed':
          counters.refreshes(event.outcome);
          break;
        case 'list-load-failed':
          counters.refreshes(event.error.kind);
          break;
        case 'provider-called':
          providerCalls.observe({ status: statusClass(event.status) }, event.durationMs / 1_000);
          break;
        case 'token-renewed':
          counters.tokenRenewals('renewed');
          break;
        case 'token-renewal-failed':
          counters.tokenRenewals('failed');
          break;
        case 'store-failed':
          counters.storeFailures(STORE_LABELS[event.store]);
          storeUp.set(STORE_LABELS[event.store], 0);
          break;
        case 'store-recovered':
        case 'store-empty':
          storeUp.set(STORE_LABELS[event.store], 1);
          break;
        case 'list-restored':
          break;
      }
    },
  };
};

/** Gauges of prom-client with names that Prometheus reserves for counters; each is repeated under a proper name. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

const METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

const STORE_LABELS = {
  CACHE_SNAPSHOT_FILE: 'snapshot',
  CACHE_REDIS_URL: 'redis',
} as const satisfies Record<StoreName, string>;
type StoreLabel = (typeof STORE_LABELS)[StoreName];

/** One sample, none, or one for each value of the label. */
type Samples = number | undefined | Iterable<readonly [labelValue: string, sample: number]>;

/** Defines a metric of which the samples are read at each scrape. */
const define = (
  Metric: typeof Counter | typeof Gauge,
  registry: Registry,
  name: string,
  help: string,
  read: () => Samples,
  label?: string,
): void => {
  const collect = (): void => {
    const samples = read();
    metric.reset();
    if (samples === undefined) metric.remove();
    else if (typeof samples === 'number') metric.inc({}, samples);
    else for (const [value, sample] of samples) metric.inc({ [label ?? '']: value }, sample);
  };
  const labelNames = label === undefined ? [] : [label];
  const settings = { name, help, labelNames, registers: [registry], collect };
  const metric: Pick<Gauge, 'reset' | 'remove' | 'inc'> = new Metric(settings);
};

const defineBuildInfo = (registry: Registry, { version, environment }: MetricsOptions): void =>
  new Gauge({
    name: 'banks_build_info',
    help: 'Always 1; the labels are the version and the environment',
    labelNames: ['version', 'environment'],
    registers: [registry],
  }).set({ version, environment }, 1);

/** The list at the moment of the scrape. */
const defineListGauges = (registry: Registry, { status, policy, fields }: MetricsOptions): void => {
  const gauge = (name: string, help: string, read: (now: ListStatus) => Samples, label?: string): void =>
    define(Gauge, registry, name, help, () => read(status()), label);

  gauge('banks_list_age_seconds', 'Time since the provider sent the cached list', ({ ageMs }) =>
    toSeconds(ageMs),
  );
  gauge('banks_list_ttl_seconds', 'Age from which the list is stale', () => toSeconds(policy.ttlMs));
  gauge('banks_list_max_stale_seconds', 'How long past its TTL the list may still be served', () =>
    toSeconds(policy.maxStaleMs),
  );
  gauge('banks_list_entries', 'Banks in the cached list', ({ held }) => held?.count ?? 0);
  gauge('banks_list_last_success_timestamp_seconds', 'When the provider sent the cached list', ({ held }) =>
    toSeconds(held?.receivedAtMs),
  );
  gauge(
    'banks_list_last_change_timestamp_seconds',
    'When the content of the cached list last changed',
    ({ held }) => toSeconds(held?.changedAtMs),
  );
  gauge(
    'banks_list_rejected_entries',
    'Entries of the newest list that were unusable and are not served, by reason',
    ({ held }) => Object.entries(held?.rejected ?? NOTHING_REJECTED),
    'reason',
  );
  gauge(
    'banks_list_field_filled_share',
    'Share of the cached list, 0 to 1, in which a field of BANK_FIELDS is not missing, null or empty',
    ({ held }) =>
      held && held.count > 0
        ? fields.map((field) => [field, countFilled(held.profile.get(field)) / held.count])
        : [],
    'field',
  );
  gauge(
    'banks_list_state',
    '1 for the current state of the list: empty, fresh, stale or expired',
    ({ state }) => oneOf(STATES, state),
    'state',
  );
  gauge(
    'banks_refresh_failing',
    '1 for the kind of the last failure, until a load succeeds',
    ({ failure }) => oneOf(LOAD_ERROR_KINDS, failure?.kind),
    'kind',
  );
};

const toSeconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1_000);

/** 1 for the value that is so now, 0 for the others. */
const oneOf = <T extends string>(values: readonly T[], now: T | undefined): [T, number][] =>
  values.map((value) => [value, value === now ? 1 : 0]);

/** Each counter is a function that counts one event by the value of its label. All values start at 0. */
const defineCounters = (registry: Registry, stores: readonly StoreName[]) => {
  const counter = <T extends string>(name: string, help: string, label: string, values: readonly T[]) => {
    const counts = new Map(values.map((value) => [value, 0]));
    define(Counter, registry, name, help, () => counts, label);
    return (value: T): void => void counts.set(value, (counts.get(value) ?? 0) + 1);
  };
  return {
    served: counter(
      'banks_served_total',
      'Requests for the list, by its state: fresh and stale were answered with it, empty and expired with an error',
      'state',
      STATES,
    ),
    waits: counter(
      'banks_list_waits_total',
      'Requests that waited for a load because there was no list to serve, by outcome: served or failed',
      'outcome',
      ['served', 'failed'],
    ),
    corsRefusals: counter(
      'banks_cors_refusals_total',
      'Requests from pages of origins that CORS_ORIGINS does not allow, by kind: preflight or request',
      'kind',
      ['preflight', 'request'],
    ),
    requests: counter(
      'banks_http_requests_total',
      'Requests to the public listener, by what answered them: the hot path, or node:http and Express',
      'answered_by',
      ['hot_path', 'node_http'],
    ),
    refreshes: counter(
      'banks_refreshes_total',
      'Attempts to renew the list, by outcome: changed, unchanged, not_modified, or the kind of failure',
      'outcome',
      ['changed', 'unchanged', 'not_modified', ...LOAD_ERROR_KINDS],
    ),
    tokenRenewals: counter(
      'banks_token_renewals_total',
      'Requests to the token endpoint, by outcome: renewed or failed',
      'outcome',
      ['renewed', 'failed'],
    ),
    storeFailures: counter<StoreLabel>(
      'banks_store_failures_total',
      'Failures to read or write the saved list, by store: snapshot or redis',
      'store',
      stores.map((name) => STORE_LABELS[name]),
    ),
    managementRefusals: counter(
      'banks_management_refusals_total',
      'Requests to the management port that were refused, by reason',
      'reason',
      MANAGEMENT_REFUSALS,
    ),
  };
};

const defineProviderCalls = (registry: Registry): Histogram<'status'> => {
  const histogram = new Histogram({
    name: 'banks_upstream_call_duration_seconds',
    help: 'Requests to the provider, to the last byte of the answer, by status class; none: no complete answer',
    labelNames: ['status'],
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  for (const status of ['2xx', '3xx', '4xx', '5xx', 'none']) histogram.zero({ status });
  return histogram;
};

/** `2xx` for 200; `none` without a status. */
const statusClass = (status = 0): string => STATUS_CLASSES[Math.floor(status / 100)] ?? 'none';
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'];
