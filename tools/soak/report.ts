// Whether the figures of a run are flat.

/** After a quarter, without clients and after garbage collection. */
export interface Rest {
  readonly quarter: number;
  readonly heldMb: number;
  readonly rssMb: number;
  readonly fds: number;
}

/** How much the rest after the last quarter may differ from that after the first. */
const MAX_HELD_GROWTH_MB = 5;
const MAX_FDS_DIFFERENCE = 5;
/** The container's limit in deploy/kubernetes. */
const MAX_RSS_MB = 256;
/**
 * New series come with combinations of labels that are rare; one for each path or client would be
 * thousands.
 */
const MAX_NEW_SERIES = 500;

/**
 * What is not flat; empty: everything is. `series` is the number of series of metrics at each
 * scrape.
 */
export const findGrowth = (
  rests: readonly Rest[],
  peakRssMb: number,
  series: readonly number[],
): string[] => {
  const [first, , , last] = rests;
  if (!first || !last) return ['the run was not finished'];
  const heldMb = last.heldMb - first.heldMb;
  const fds = last.fds - first.fds;
  const newSeries = Math.max(...series) - Math.min(...series);
  return [
    heldMb < MAX_HELD_GROWTH_MB || `memory after garbage collection grew by ${heldMb} MB`,
    Math.abs(fds) <= MAX_FDS_DIFFERENCE || `file descriptors at rest: ${fds} more`,
    newSeries <= MAX_NEW_SERIES || `${newSeries} new series of metrics`,
    peakRssMb < MAX_RSS_MB || `${peakRssMb} MB resident, of ${MAX_RSS_MB}`,
  ].filter((problem) => problem !== true);
};

export const summariseLatencies = (
  latenciesMs: readonly number[],
): Record<'p50' | 'p99' | 'max', number> => {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
};
