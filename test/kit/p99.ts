/** The 99th percentile. */
export const p99 = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length * 0.99)] ?? NaN;
