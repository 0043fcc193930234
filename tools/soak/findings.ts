// What is counted and what went wrong.

export type Findings = ReturnType<typeof createFindings>;

const MAX_SHOWN_OF_A_SORT = 3;
const MAX_DETAIL = 600;

export const createFindings = () => {
  const startedAtMs = performance.now();
  const counts: Record<string, Record<string, number>> = {};
  const sorts = new Map<string, number>();
  let total = 0;
  return {
    /**
     * Counts one answer of a kind of request; `outcome` is its status, or what happened instead of
     * one.
     */
    count: (kind: string, outcome: string | number): void => {
      const row = (counts[kind] ??= {});
      row[outcome] = (row[outcome] ?? 0) + 1;
    },
    fail: (kind: string, problem: string, detail = ''): void => {
      total += 1;
      const sort = `${kind} ${problem.replaceAll(/\d+/g, '')}`;
      const ofSort = (sorts.get(sort) ?? 0) + 1;
      sorts.set(sort, ofSort);
      // One cause can make hundreds of one sort, and must not hide the only one of another.
      if (ofSort > MAX_SHOWN_OF_A_SORT) return;
      const second = Math.round((performance.now() - startedAtMs) / 100) / 10;
      const failure = { second, kind, problem, detail: detail.slice(0, MAX_DETAIL) };
      process.stdout.write(`  NOT ALLOWED: ${JSON.stringify(failure)}\n`);
    },
    /** Kinds, each with the count of each outcome. */
    counts,
    total: () => total,
  };
};
