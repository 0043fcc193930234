import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { LOAD_ERROR_KINDS } from '../banks/load-error.ts';
import type { StoreName } from '../sharing/list-store.ts';
import type { ServiceEvent } from './events.ts';
import { defineListMetrics, type ListMetricsOptions } from './list-metrics.ts';
import { createRequestMetrics, statusClass } from './request-metrics.ts';

// The service in numbers, for Prometheus. Each label has a closed set of values, so neither a client nor the provider can
// create new series. States are read at the scrape; only events are counted.

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

export interface MetricsOptions extends ListMetricsOptions {
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
  defineListMetrics(registry, options);
  const requests = createRequestMetrics(registry);
  const { refreshes, tokenRenewals, storeFailures, managementRefusals } = defineCounters(registry, options);
  const storeUp = defineStoreUp(registry, options.stores);
  const providerCalls = defineProviderCalls(registry);

  return {
    contentType: registry.contentType,
    exposition: async () => `${await registry.metrics()}\n${requests.exposition()}`,
    onManagementRefusal: managementRefusals,
    onEvent: (event) => {
      switch (event.type) {
        case 'request-finished':
          requests.onRequest(event);
          break;
        case 'list-renewed':
          refreshes(event.outcome);
          break;
        case 'list-load-failed':
          refreshes(event.error.kind);
          break;
        case 'provider-called':
          providerCalls.observe({ status: statusClass(event.status) }, event.durationMs / 1_000);
          break;
        case 'token-renewed':
          tokenRenewals('renewed');
          break;
        case 'token-renewal-failed':
          tokenRenewals('failed');
          break;
        case 'store-failed':
          storeFailures(STORE_LABELS[event.store]);
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

/** Gauges of prom-client with names that Prometheus reserves for counters; each is repeated under a proper name. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

const STORE_LABELS = {
  CACHE_SNAPSHOT_FILE: 'snapshot',
  CACHE_REDIS_URL: 'redis',
} as const satisfies Record<StoreName, string>;
type StoreLabel = (typeof STORE_LABELS)[StoreName];

const defineBuildInfo = (registry: Registry, { version, environment }: MetricsOptions): void =>
  new Gauge({
    name: 'banks_build_info',
    help: 'Always 1; the labels are the version and the environment',
    labelNames: ['version', 'environment'],
    registers: [registry],
  }).set({ version, environment }, 1);

/** Each counter is a function that counts one event by the value of its label. All values start at 0. */
const defineCounters = (registry: Registry, { stores }: MetricsOptions) => {
  const counter = <T extends string>(name: string, help: string, label: string, values: readonly T[]) => {
    const metric = new Counter({ name, help, labelNames: [label], registers: [registry] });
    for (const value of values) metric.inc({ [label]: value }, 0);
    return (value: T): void => metric.inc({ [label]: value });
  };
  return {
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

const defineStoreUp = (registry: Registry, stores: readonly StoreName[]): Gauge<'store'> => {
  const gauge = new Gauge({
    name: 'banks_store_up',
    help: '1 while a configured store works, 0 after a failure',
    labelNames: ['store'],
    registers: [registry],
  });
  for (const name of stores) gauge.set({ store: STORE_LABELS[name] }, 1);
  return gauge;
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
