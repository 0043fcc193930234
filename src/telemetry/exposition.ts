// Prometheus's text format, and histograms of durations. prom-client builds a string from the
// labels of every observation to look it up, which took a quarter of the total time of a request
// for /banks; here only a scrape does.

/**
 * A value, with the labels that distinguish it within its metric. Histograms have three kinds of
 * samples.
 */
export type Sample = readonly [
  labels: Readonly<Record<string, string>>,
  value: number,
  kind?: '_bucket' | '_sum' | '_count',
];

/**
 * One metric as text: https://prometheus.io/docs/instrumenting/exposition_formats/. Nothing is
 * escaped: labels' values are constants of the code, the version, and names of BANK_FIELDS, which
 * have no quote, backslash or line break.
 */
export const toExposition = (
  name: string,
  type: 'gauge' | 'counter' | 'histogram',
  help: string,
  samples: readonly Sample[],
): string => {
  const lines = samples.map(([labels, value, kind = '']) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
    return `${name}${kind}${pairs.length > 0 ? `{${pairs.join()}}` : ''} ${value}`;
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n');
};

export interface DurationsOptions {
  readonly help: string;
  readonly labels: readonly string[];
  /** Of the buckets, in seconds. */
  readonly bounds: readonly number[];
  /** The labels' values in the series that are there from the start. */
  readonly series?: readonly (readonly string[])[];
}

export const createDurations = ({ help, labels: names, bounds, series = [] }: DurationsOptions) => {
  const newTally = (values: readonly string[]) => ({
    values,
    /** One per bucket, not cumulative; the last is for durations above all bounds. */
    counts: Array.from({ length: bounds.length + 1 }, () => 0),
    sum: 0,
  });
  const tallies = series.map(newTally);
  return {
    type: 'histogram',
    help,
    /** `values`: of the labels, in their order. They must come from closed sets. */
    observe: (values: readonly string[], durationMs: number): void => {
      // There are few, and joining the values into one key would take twenty times as long.
      let tally = tallies.find((each) =>
        each.values.every((value, index) => value === values[index]),
      );
      if (!tally) tallies.push((tally = newTally(values)));
      const seconds = durationMs / 1_000;
      let bucket = 0;
      while (seconds > (bounds[bucket] ?? Infinity)) bucket += 1;
      tally.counts[bucket] = (tally.counts[bucket] ?? 0) + 1;
      tally.sum += seconds;
    },
    samples: (): readonly Sample[] =>
      tallies.flatMap(({ values, counts, sum }) => {
        const labels = Object.fromEntries(
          names.map((label, index) => [label, values[index] ?? '']),
        );
        let count = 0;
        const buckets = counts.map((inBucket, bucket): Sample => {
          count += inBucket;
          return [{ le: String(bounds[bucket] ?? '+Inf'), ...labels }, count, '_bucket'];
        });
        return [...buckets, [labels, sum, '_sum'], [labels, count, '_count']];
      }),
  } as const;
};
