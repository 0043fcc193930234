import { Counter, type Registry } from 'prom-client';
import { STATES, type Freshness } from '../banks/freshness.ts';
import type { RequestEvent } from './events.ts';
import { createRequestDurations } from './request-durations.ts';

export interface RequestMetrics {
  onRequest(event: RequestEvent): void;
  /** The durations; the other metrics are in the registry. */
  exposition(): string;
}

/** Metrics of the requests to the public port, which are counted at every request and therefore cheap. */
export const createRequestMetrics = (registry: Registry): RequestMetrics => {
  const durations = createRequestDurations();
  const served: Record<Freshness, number> = { empty: 0, fresh: 0, stale: 0, expired: 0 };
  registry.registerMetric(
    new Counter({
      name: 'banks_served_total',
      help: 'Requests for the list, by its state: fresh and stale were answered with it, empty and expired with an error',
      labelNames: ['state'],
      registers: [],
      collect() {
        this.reset();
        for (const state of STATES) this.inc({ state }, served[state]);
      },
    }),
  );
  const answered: Record<RequestEvent['answeredBy'], number> = { hot_path: 0, node_http: 0 };
  registry.registerMetric(
    new Counter({
      name: 'banks_http_requests_total',
      help: 'Requests to the public listener, by what answered them: the hot path, or node:http and Express',
      labelNames: ['answered_by'],
      registers: [],
      collect() {
        this.reset();
        for (const [answeredBy, count] of Object.entries(answered))
          this.inc({ answered_by: answeredBy }, count);
      },
    }),
  );
  return {
    onRequest: ({ route, answeredBy, method, status, durationMs, aborted, listState }) => {
      answered[answeredBy] += 1;
      const methodLabel = METHODS.has(method) ? method : 'other';
      durations.observe(route, methodLabel, aborted ? 'aborted' : statusClass(status), durationMs / 1_000);
      if (listState && !aborted) served[listState] += 1;
    },
    exposition: () => durations.exposition(),
  };
};

const METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** `2xx` for 200; `none` without a status. */
export const statusClass = (status = 0): string => STATUS_CLASSES[Math.floor(status / 100)] ?? 'none';
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'];
