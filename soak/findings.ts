// What is counted and what went wrong.

export interface Failure {
  readonly second: number;
  readonly kind: string;
  readonly problem: string;
  readonly detail: string;
}

export interface Findings {
  /** Counts one answer of a kind of request; `outcome` is its status, or what happened instead of one. */
  count(kind: string, outcome: string | number): void;
  fail(kind: string, problem: string, detail?: string): void;
  /** Kinds, each with the count of each outcome. */
  counts(): Record<string, Record<string, number>>;
  /** The first of each sort; {@link total} has all. */
  readonly shown: readonly Failure[];
  total(): number;
}

const MAX_SHOWN = 60;
const MAX_SHOWN_OF_A_SORT = 3;
const MAX_DETAIL = 600;

export const createFindings = (): Findings => {
  const startedAtMs = performance.now();
  const counts: Record<string, Record<string, number>> = {};
  const shown: Failure[] = [];
  const sorts = new Map<string, number>();
  let total = 0;
  return {
    count: (kind, outcome) => {
      const row = (counts[kind] ??= {});
      row[outcome] = (row[outcome] ?? 0) + 1;
    },
    fail: (kind, problem, detail = '') => {
      total += 1;
      const sort = `${kind} ${problem.replaceAll(/\d+/g, '')}`;
      const ofSort = (sorts.get(sort) ?? 0) + 1;
      sorts.set(sort, ofSort);
      // One cause can make hundreds of one sort, and must not hide the only one of another.
      if (ofSort > MAX_SHOWN_OF_A_SORT || shown.length >= MAX_SHOWN) return;
      const second = Math.round((performance.now() - startedAtMs) / 100) / 10;
      const failure = { second, kind, problem, detail: detail.slice(0, MAX_DETAIL) };
      shown.push(failure);
      process.stdout.write(`  NOT ALLOWED: ${JSON.stringify(failure)}\n`);
    },
    counts: () => counts,
    shown,
    total: () => total,
  };
};
