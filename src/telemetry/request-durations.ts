import type { RequestEvent } from './events.ts';

// How long requests to the public port take, as plain numbers and Prometheus's text format:
// prom-client builds a string from the labels of every observation to look it up, which takes a
// twentieth of the total time of a request for /banks. All other metrics are prom-client's.

/** The upper ends of the buckets, in seconds. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5];

/** Other methods count together: each set of labels is a series for ever. */
const METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Of one route, method and status class. */
interface RequestSeries {
  readonly route: string;
  readonly method: string;
  readonly status: string;
  /** One per bucket, not cumulative; the last is for durations above all bounds. */
  readonly counts: number[];
  sumSeconds: number;
}

export const createRequestDurations = () => {
  const allSeries: RequestSeries[] = [];

  const seriesOf = (route: string, method: string, status: string): RequestSeries => {
    // There are few, and joining the labels into one key would take twenty times as long.
    const known = allSeries.find(
      (series) => series.route === route && series.method === method && series.status === status,
    );
    if (known) return known;
    const counts = Array.from({ length: BOUNDS.length + 1 }, () => 0);
    const added = { route, method, status, counts, sumSeconds: 0 };
    allSeries.push(added);
    return added;
  };

  return {
    observe: ({ route, method, status, isWritten, durationMs }: RequestEvent): void => {
      const series = seriesOf(
        route,
        METHODS.has(method) ? method : 'other',
        isWritten ? statusClass(status) : 'aborted',
      );
      const seconds = durationMs / 1_000;
      let bucket = 0;
      while (seconds > (BOUNDS[bucket] ?? Infinity)) bucket += 1;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.sumSeconds += seconds;
    },
    /** https://prometheus.io/docs/instrumenting/exposition_formats/. No label needs escaping. */
    text: (): string =>
      [
        `# HELP ${NAME} Requests to the public port, by route, method and status class; aborted: the client disconnected`,
        `# TYPE ${NAME} histogram`,
        ...allSeries.flatMap(linesOf),
        '',
      ].join('\n'),
  };
};

const NAME = 'banks_http_request_duration_seconds';

const linesOf = ({ route, method, status, counts, sumSeconds }: RequestSeries): string[] => {
  const labels = `route="${route}",method="${method}",status="${status}"`;
  let count = 0;
  const buckets = counts.map((inBucket, bucket) => {
    count += inBucket;
    return `${NAME}_bucket{le="${BOUNDS[bucket] ?? '+Inf'}",${labels}} ${count}`;
  });
  return [...buckets, `${NAME}_sum{${labels}} ${sumSeconds}`, `${NAME}_count{${labels}} ${count}`];
};

/** `2xx` for 200; `none` without a status. */
export const statusClass = (status = 0): string =>
  STATUS_CLASSES[Math.floor(status / 100)] ?? 'none';

export const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'];
