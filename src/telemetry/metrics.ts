import { collectDefaultMetrics, Registry } from 'prom-client';
import type { BankList } from '../banks/bank-list.ts';
import { STATES } from '../banks/freshness.ts';
import { LOAD_ERROR_KINDS } from '../banks/load-error.ts';
import { NOTHING_REJECTED, REJECTION_REASONS } from '../banks/reading/entry.ts';
import { countFilled } from '../banks/reading/profile.ts';
import { notAfter, type Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { SecretFileState } from '../secrets/secrets.ts';
import type { StoreName } from '../sharing/store-report.ts';
import {
  CONNECTION_CLOSED_REASONS,
  MANAGEMENT_REFUSALS,
  REQUEST_REFUSALS,
  isServerError,
  type RequestEvent,
  type ServiceEvent,
  type StoreState,
} from './events.ts';
import { createDurations, toExposition, type Sample } from './exposition.ts';

// The service in numbers, for Prometheus. Each label has a closed set of values, so neither a
// client nor the provider can create new series. Events are counted in plain numbers, which costs a
// request next to nothing; everything is read at the scrape.

export interface MetricsOptions {
  readonly list: Pick<BankList, 'status'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** The state of each configured store. */
  readonly stores: () => readonly StoreState[];
  /** The state of each file that holds a secret, a certificate or a key. */
  readonly secretFiles: () => readonly SecretFileState[];
  readonly version: string;
  /** How many lines the log has lost so far. */
  readonly lostLogLines: () => number;
}

export const createMetrics = (config: Config, options: MetricsOptions) => {
  const tallies = createTallies(options);
  let nodeMetrics: Registry | undefined;

  const countRequest = (event: RequestEvent): void => {
    const { route, method, status, aborted, listState } = event;
    const knownMethod = METHODS.has(method) ? method : 'other';
    const outcome = aborted ? 'aborted' : statusClass(status);
    tallies.banks_http_request_duration_seconds.observe(
      [route, knownMethod, outcome],
      event.durationMs,
    );
    tallies.banks_http_requests_total.count(event.answeredBy);
    if (listState && !aborted) tallies.banks_served_total.count(listState);
    if (event.waited) {
      const end = isServerError(status) ? 'failed' : 'served';
      tallies.banks_list_waits_total.count(aborted ? 'aborted' : end);
    }
    if (event.refusal) tallies.banks_http_refusals_total.count(event.refusal);
    if (event.isRefusedOrigin)
      tallies.banks_cors_refusals_total.count(method === 'OPTIONS' ? 'preflight' : 'request');
  };

  return {
    onEvent: (event: ServiceEvent): void => {
      if (event.type === 'request-finished') countRequest(event);
      else if (event.type === 'provider-called')
        tallies.banks_upstream_call_duration_seconds.observe(
          [statusClass(event.response?.status)],
          event.durationMs,
        );
      else if (event.type === 'list-renewed') tallies.banks_refreshes_total.count(event.outcome);
      else if (event.type === 'list-load-failed')
        tallies.banks_refreshes_total.count(event.error.kind);
      else if (event.type === 'token-renewed') tallies.banks_token_renewals_total.count('renewed');
      else if (event.type === 'token-renewal-failed')
        tallies.banks_token_renewals_total.count('failed');
      else if (event.type === 'store-failed')
        tallies.banks_store_failures_total.count(STORE_LABELS[event.store]);
      else if (event.type === 'request-refused')
        tallies.banks_http_refusals_total.count(event.code);
      else if (event.type === 'connection-closed')
        tallies.banks_connections_closed_total.count(event.reason);
      else if (event.type === 'management-refused')
        tallies.banks_management_refusals_total.count(event.reason);
    },
    /** All metrics in Prometheus's text format. */
    exposition: async (): Promise<string> => {
      nodeMetrics ??= collectNodeMetrics();
      return [
        await nodeMetrics.metrics(),
        ...Object.entries(gaugesOf(config, options)).map(([name, [help, samples]]) =>
          toExposition(name, 'gauge', help, samples),
        ),
        ...Object.entries(tallies).map(([name, { type, help, samples }]) =>
          toExposition(name, type, help, samples()),
        ),
        '',
      ].join('\n');
    },
  };
};

/** Node's own metrics. */
const collectNodeMetrics = (): Registry => {
  // Not prom-client's global registry: two services can live in one process.
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return registry;
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

const METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** `2xx` for 200; `none` without a status. */
const statusClass = (status = 0): string => STATUS_CLASSES[Math.floor(status / 100)] ?? 'none';
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'];

const STORE_LABELS: Readonly<Record<StoreName, string>> = {
  CACHE_SNAPSHOT_FILE: 'snapshot',
  CACHE_REDIS_URL: 'redis',
};

type Gauges = Readonly<Record<string, readonly [help: string, samples: readonly Sample[]]>>;

/** The build, and the list and its stores at this moment. */
const gaugesOf = ({ provider, cache, banks }: Config, options: MetricsOptions): Gauges => {
  const { list, stores, secretFiles, clock, version } = options;
  const { state, cached, ageMs, failure } = list.status();
  const { count = 0, rejected = NOTHING_REJECTED } = cached ?? {};
  const nowMs = clock.wallMs();
  const timeOf = (pastMs: number | undefined): readonly Sample[] =>
    inSeconds(pastMs === undefined ? undefined : notAfter(nowMs, pastMs));
  // Names that the provider chooses are not a closed set.
  const fields = count > 0 ? (banks.fields ?? []).map(({ name }) => name) : [];
  return {
    banks_build_info: [
      'Always 1; the labels are the version and the environment',
      [[{ version, environment: provider.environment }, 1]],
    ],
    banks_list_age_seconds: ['Time since the provider sent the cached list', inSeconds(ageMs)],
    banks_list_ttl_seconds: ['Age from which the list is stale', inSeconds(cache.ttlMs)],
    banks_list_max_stale_seconds: [
      'How long past its TTL the list may still be served',
      inSeconds(cache.maxStaleMs),
    ],
    banks_list_entries: ['Banks in the cached list', [[{}, count]]],
    banks_list_last_success_timestamp_seconds: [
      'When the provider sent the cached list',
      timeOf(cached?.loadedAtWallMs),
    ],
    banks_list_last_change_timestamp_seconds: [
      'When the content of the cached list last changed',
      timeOf(cached?.changedAtMs),
    ],
    banks_list_last_large_change_timestamp_seconds: [
      'When the list last changed by more than GUARD_MAX_SHRINK, as this instance saw it',
      timeOf(cached?.largeChange?.atMs),
    ],
    banks_list_incomplete: [
      "1 while the provider's response linked to a next page, so the cached list is probably incomplete",
      [[{}, Number(cached?.hasNextPage ?? false)]],
    ],
    banks_list_rejected_entries: [
      'Entries of the newest list that were unusable and are not served, by reason',
      forEach('reason', REJECTION_REASONS, (reason) => rejected[reason]),
    ],
    banks_list_field_filled_share: [
      'Share of the cached list, 0 to 1, in which a field of BANK_FIELDS is not missing, null or empty',
      forEach('field', fields, (field) => countFilled(cached?.profile.get(field)) / count),
    ],
    banks_list_state: [
      '1 for the current state of the list: empty, fresh, stale or expired',
      forEach('state', STATES, (each) => Number(each === state)),
    ],
    banks_refresh_failing: [
      '1 for the kind of the last failure, of this instance or of one that shares Redis with it, until a load succeeds',
      forEach('kind', LOAD_ERROR_KINDS, (kind) => Number(kind === failure?.kind)),
    ],
    banks_store_up: [
      '1 while a configured store works, 0 after a failure',
      stores().map(({ name, failing }) => [{ store: STORE_LABELS[name] }, failing ? 0 : 1]),
    ],
    banks_secret_file_usable: [
      '1 while the file of a variable can be used, 0 while it is missing or its content is not usable or is refused',
      secretFiles().map(({ variable, unusable }) => [{ variable }, unusable ? 0 : 1]),
    ],
  };
};

/** One sample without labels, or none. */
const inSeconds = (ms: number | undefined): readonly Sample[] =>
  ms === undefined ? [] : [[{}, ms / 1_000]];

/** A sample for each of the label's `values`. */
const forEach = <V extends string>(
  label: string,
  values: readonly V[],
  sampleOf: (value: V) => number,
): readonly Sample[] => values.map((value) => [{ [label]: value }, sampleOf(value)]);

/** A count for each of the label's `values`, from 0. */
const createCounter = (help: string, label: string, values: readonly string[]) => {
  const counts = new Map(values.map((value) => [value, 0]));
  return {
    type: 'counter',
    help,
    count: (value: string): void => void counts.set(value, (counts.get(value) ?? 0) + 1),
    samples: (): readonly Sample[] =>
      [...counts].map(([value, count]) => [{ [label]: value }, count]),
  } as const;
};

/** Counters and histograms, in the order of the scrape. */
const createTallies = ({ stores, lostLogLines }: MetricsOptions) => ({
  banks_served_total: createCounter(
    'Requests for the list, by its state: fresh and stale were answered with it, empty and expired with an error',
    'state',
    STATES,
  ),
  banks_list_waits_total: createCounter(
    'Requests that waited for a load because there was no list to serve, by outcome: served, failed, or aborted (the client disconnected)',
    'outcome',
    ['served', 'failed', 'aborted'],
  ),
  banks_cors_refusals_total: createCounter(
    'Requests from pages of origins that CORS_ORIGINS does not allow, by kind: preflight or request',
    'kind',
    ['preflight', 'request'],
  ),
  banks_http_requests_total: createCounter(
    'Requests to the public port, by what handled them: the hot path, or node:http and Express',
    'answered_by',
    ['hot_path', 'node_http'],
  ),
  banks_http_refusals_total: createCounter(
    'Requests to the public port that were refused or given up, by the code of the response, whatever the state of the list was',
    'code',
    REQUEST_REFUSALS,
  ),
  banks_connections_closed_total: createCounter(
    'Connections to the public port that were closed unanswered to make room for others, by reason: address_limit, idle or over_capacity',
    'reason',
    CONNECTION_CLOSED_REASONS,
  ),
  banks_refreshes_total: createCounter(
    'Attempts of this instance to renew the list, by outcome: changed, unchanged, or the kind of failure',
    'outcome',
    ['changed', 'unchanged', ...LOAD_ERROR_KINDS],
  ),
  banks_token_renewals_total: createCounter(
    'Requests to the token endpoint, by outcome: renewed or failed',
    'outcome',
    ['renewed', 'failed'],
  ),
  banks_store_failures_total: createCounter(
    'Failures to read or write the saved list, by store: snapshot or redis',
    'store',
    stores().map(({ name }) => STORE_LABELS[name]),
  ),
  banks_management_refusals_total: createCounter(
    'Requests to the management port that were refused, by reason',
    'reason',
    MANAGEMENT_REFUSALS,
  ),
  banks_log_lines_lost_total: {
    type: 'counter' as const,
    help: 'Lines that the log lost because nobody read it in time',
    samples: (): readonly Sample[] => [[{}, lostLogLines()]],
  },
  banks_upstream_call_duration_seconds: createDurations({
    help: 'Requests to the provider, to the last byte of the response, by status class; none: no complete response',
    bounds: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    labels: ['status'],
    series: [['2xx'], ['3xx'], ['4xx'], ['5xx'], ['none']],
  }),
  banks_http_request_duration_seconds: createDurations({
    help: 'Requests to the public port, by route, method and status class; aborted: the client disconnected',
    bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5],
    labels: ['route', 'method', 'status'],
  }),
});
