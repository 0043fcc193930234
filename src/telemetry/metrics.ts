import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { BankList } from '../banks/bank-list.ts';
import { STATES } from '../banks/freshness.ts';
import { LOAD_ERROR_KINDS } from '../banks/load-error.ts';
import { NOTHING_REJECTED, REJECTION_REASONS } from '../banks/reading/entry.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { SecretFileState } from '../secrets/secret-files.ts';
import type { StoreName, StoreState } from '../sharing/store-report.ts';
import { ANSWERED_BY, MANAGEMENT_REFUSALS, type ServiceEvent } from './events.ts';
import { createRequestDurations, statusClass, STATUS_CLASSES } from './request-durations.ts';

// The service in numbers, for Prometheus. Each label has a closed set of values, so neither a
// client nor the provider can create new series. Gauges are read at the scrape; counters count
// events.

export interface MetricsOptions {
  readonly list: Pick<BankList, 'status'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** The state of each configured store. */
  readonly stores: () => readonly StoreState[];
  /** The state of each file that holds a secret, a certificate or a key. */
  readonly secretFiles: () => readonly SecretFileState[];
  readonly version: string;
}

/** @param lostLogLines gives how many lines the log has lost so far */
export const createMetrics = (
  config: Config,
  options: MetricsOptions,
  lostLogLines: () => number,
) => {
  // Not prom-client's global registry: two services can live in one process.
  const registry = new Registry();
  let largeChangeAtMs: number | undefined;
  addGauges(registry, config, options, () => largeChangeAtMs);
  const counters = createCounters(registry, lostLogLines);
  const requestDurations = createRequestDurations();
  let hasNodeMetrics = false;

  return {
    onEvent: (event: ServiceEvent): void => {
      switch (event.type) {
        case 'request-finished':
          counters.answered(event.answeredBy);
          if (event.listState && event.isWritten) counters.served(event.listState);
          requestDurations.observe(event);
          break;
        case 'provider-called': {
          const status = statusClass(event.response?.status);
          counters.calls.observe({ status }, event.durationMs / 1_000);
          break;
        }
        case 'list-taken': {
          const { change, previous, load } = event;
          if (load) counters.refreshes(change || !previous ? 'changed' : 'unchanged');
          if (change?.isLarge) largeChangeAtMs = options.clock.wallMs();
          break;
        }
        case 'load-failed':
          counters.refreshes(event.error.kind);
          break;
        case 'token-renewed':
          counters.tokens('renewed');
          break;
        case 'token-renewal-failed':
          counters.tokens('failed');
          break;
        case 'connection-dropped':
          counters.dropped.inc();
          break;
        case 'management-refused':
          counters.management(event.reason);
          break;
        case 'list-aged':
        case 'load-failed-elsewhere':
        case 'store-failed':
        case 'store-recovered':
        case 'secret-file-unusable':
        case 'secret-file-usable':
          // Gauges show these states, and another instance counts its own loads.
          break;
      }
    },
    /** All metrics in Prometheus's text format. */
    exposition: async (): Promise<string> => {
      // Only once somebody reads them: measuring the event loop takes a timer.
      if (!hasNodeMetrics) addNodeMetrics(registry);
      hasNodeMetrics = true;
      return `${await registry.metrics()}\n${requestDurations.text()}`;
    },
  };
};

const addNodeMetrics = (registry: Registry): void => {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
};

/**
 * Gauges of prom-client with names that Prometheus reserves for counters; each is repeated under a
 * proper name.
 */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

const STORE_LABELS: Readonly<Record<StoreName, string>> = {
  CACHE_SNAPSHOT_FILE: 'snapshot',
  CACHE_REDIS_URL: 'redis',
  CACHE_REDIS_URL_FILE: 'redis',
};

/** The build, and the list, its stores and the secret files at the moment of the scrape. */
const addGauges = (
  registry: Registry,
  { provider, cache }: Config,
  { list, stores, secretFiles, clock, version }: MetricsOptions,
  largeChangeAtMs: () => number | undefined,
): void => {
  /** A gauge without labels; it has no sample while `read` gives undefined. */
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const value = read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  /** A gauge with a sample for each value of its label. */
  const gaugeBy = (
    name: string,
    label: string,
    help: string,
    read: () => readonly (readonly [value: string, sample: number])[],
  ) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      collect() {
        this.reset();
        for (const [value, sample] of read()) this.set({ [label]: value }, sample);
      },
    });
  const inSeconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1_000);
  const cached = () => list.status().cached;

  new Gauge({
    name: 'banks_build_info',
    help: 'Always 1; the labels are the version and the environment',
    labelNames: ['version', 'environment'],
    registers: [registry],
  }).set({ version, environment: provider.environment }, 1);
  gauge('banks_list_age_seconds', 'Time since the cached list was requested', () =>
    inSeconds(list.status().ageMs),
  );
  gauge('banks_list_ttl_seconds', 'Age from which the list is stale', () => inSeconds(cache.ttlMs));
  gauge('banks_list_max_stale_seconds', 'How long past its TTL the list may still be served', () =>
    inSeconds(cache.maxStaleMs),
  );
  gauge('banks_list_entries', 'Banks in the cached list', () => cached()?.count ?? 0);
  gauge('banks_list_last_success_timestamp_seconds', 'When the cached list was requested', () =>
    inSeconds(cached() && clock.wallMs() - (list.status().ageMs ?? 0)),
  );
  gauge(
    'banks_list_last_change_timestamp_seconds',
    'When the content of the cached list last changed',
    () => inSeconds(cached()?.changedAtMs),
  );
  gauge(
    'banks_list_incomplete',
    "1 while the provider's response linked to a next page, so the cached list is probably incomplete",
    () => Number(cached()?.hasNextPage ?? false),
  );
  gaugeBy(
    'banks_list_rejected_entries',
    'reason',
    'Entries of the provider that are not in the cached list, by reason',
    () =>
      REJECTION_REASONS.map((reason) => [reason, (cached()?.rejected ?? NOTHING_REJECTED)[reason]]),
  );
  gaugeBy(
    'banks_list_state',
    'state',
    '1 for the current state of the list: empty, fresh, stale or expired',
    () => STATES.map((state) => [state, Number(state === list.status().state)]),
  );
  gaugeBy(
    'banks_refresh_failing',
    'kind',
    '1 for the kind of the last failure, of this instance or of one that shares Redis with it, until a load succeeds',
    () =>
      LOAD_ERROR_KINDS.map((kind) => [kind, Number(kind === list.status().failing?.error.kind)]),
  );
  gaugeBy('banks_store_up', 'store', '1 while a configured store works, 0 after a failure', () =>
    stores().map(({ name, failing }) => [STORE_LABELS[name], failing ? 0 : 1]),
  );
  gaugeBy(
    'banks_secret_file_usable',
    'variable',
    '1 while the file of a variable can be used, 0 while it is missing or its content is not usable or is refused',
    () => secretFiles().map(({ variable, unusable }) => [variable, unusable ? 0 : 1]),
  );
  gauge(
    'banks_list_last_large_change_timestamp_seconds',
    'When the list last changed by more than GUARD_MAX_SHRINK, as this instance saw it',
    () => inSeconds(largeChangeAtMs()),
  );
};

const createCounters = (registry: Registry, lostLogLines: () => number) => {
  /**
   * A counter with a sample for each of the label's `values`, from 0. Its sums are plain numbers,
   * which prom-client gets at the scrape: its own way would take too long for every request.
   * @returns what adds one to the sum of a value
   */
  const counter = <const Value extends string>(
    name: string,
    label: string,
    values: readonly Value[],
    help: string,
  ): ((value: Value) => void) => {
    const counts = new Map(values.map((value) => [value, 0]));
    registry.registerMetric(
      new Counter({
        name,
        help,
        labelNames: [label],
        registers: [],
        collect() {
          this.reset();
          for (const [value, count] of counts) this.inc({ [label]: value }, count);
        },
      }),
    );
    return (value) => void counts.set(value, (counts.get(value) ?? 0) + 1);
  };
  registry.registerMetric(
    new Counter({
      name: 'banks_log_lines_lost_total',
      help: 'Lines that the log lost because nobody read it in time',
      registers: [],
      collect() {
        this.reset();
        this.inc(lostLogLines());
      },
    }),
  );
  const calls = new Histogram({
    name: 'banks_upstream_call_duration_seconds',
    help: 'Requests to the provider, to the last byte of the response, by status class; none: no complete response',
    labelNames: ['status'],
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  for (const status of STATUS_CLASSES) calls.zero({ status });
  return {
    calls,
    refreshes: counter(
      'banks_refreshes_total',
      'outcome',
      ['changed', 'unchanged', ...LOAD_ERROR_KINDS],
      'Attempts of this instance to renew the list, by outcome: changed, unchanged, or the kind of failure',
    ),
    tokens: counter(
      'banks_token_renewals_total',
      'outcome',
      ['renewed', 'failed'],
      'Requests to the token endpoint, by outcome: renewed or failed',
    ),
    dropped: new Counter({
      name: 'banks_connections_dropped_total',
      help: 'Connections to the public port that were closed unread because it has as many as it takes',
      registers: [registry],
    }),
    management: counter(
      'banks_management_refusals_total',
      'reason',
      MANAGEMENT_REFUSALS,
      'Requests to the management port that were refused, by reason',
    ),
    served: counter(
      'banks_served_total',
      'state',
      STATES,
      'Requests for the list, by its state: fresh and stale were answered with it, empty and expired with an error',
    ),
    answered: counter(
      'banks_http_requests_total',
      'answered_by',
      ANSWERED_BY,
      'Requests to the public port, by what answered them: the hot path, Express, or the server in front, which refuses malformed ones',
    ),
  };
};
