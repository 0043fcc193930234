// What the run has seen: counts of what was answered, and each violation of what is promised.

export type Findings = ReturnType<typeof createFindings>;

/** One cause can make hundreds of the same kind, which must not hide the only one of another. */
const MAX_SHOWN_OF_A_KIND = 3;

export const createFindings = () => {
  const startedAtMs = performance.now();
  const counts: Record<string, number> = {};
  const violations = new Map<string, number>();
  return {
    counts,
    count: (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1),
    violate: (what: string, detail = ''): void => {
      const kind = what.replaceAll(/\d+/g, 'N');
      const seen = (violations.get(kind) ?? 0) + 1;
      violations.set(kind, seen);
      if (seen > MAX_SHOWN_OF_A_KIND) return;
      const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
      process.stdout.write(`  VIOLATION after ${seconds} s: ${what} ${detail.slice(0, 600)}\n`);
    },
    violations: (): number => [...violations.values()].reduce((sum, count) => sum + count, 0),
  };
};
