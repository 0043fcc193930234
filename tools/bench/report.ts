import type { Sample } from './load.ts';

// A Markdown table of medians: other work on the machine distorts some of the samples.

/** The samples of one program. */
export interface Result {
  readonly program: string;
  /** By scenario, each in the order of the turns. */
  readonly full: ReadonlyMap<string, readonly Sample[]>;
  readonly atRate: readonly Sample[];
  readonly peakRssMb: number;
}

/** @param results that of the service first: ratios are to its CPU time in the same turn */
export const toTable = (results: readonly Result[], rate: number): string => {
  const [service] = results;
  const scenarios = [...(service?.full.keys() ?? [])];
  const cpuTimes = ({ full }: Result, scenario: string): readonly number[] =>
    (full.get(scenario) ?? []).map(({ cpuUs }) => cpuUs);
  const cpuCell = (result: Result, scenario: string): string => {
    const times = cpuTimes(result, scenario);
    const own = service ? cpuTimes(service, scenario) : [];
    const ratios = times.map((time, turn) => time / (own[turn] ?? Number.NaN));
    return `${median(times).toFixed(1)} (${median(ratios).toFixed(2)})`;
  };
  const tail = ({ atRate }: Result, name: keyof Sample): number =>
    median(atRate.map((sample) => sample[name]));
  const row = (result: Result): string[] => [
    result.program,
    ...scenarios.map((scenario) => cpuCell(result, scenario)),
    `${tail(result, 'p50Ms').toFixed(2)} / ${tail(result, 'p99Ms').toFixed(2)} / ${tail(result, 'p999Ms').toFixed(2)}`,
    `${(tail(result, 'late') * 100).toFixed(1)} %`,
    result.peakRssMb.toFixed(0),
  ];
  const head = [
    'program',
    ...scenarios.map((scenario) => `${scenario}, CPU µs (ratio)`),
    `p50 / p99 / p99.9 ms at ${rate}/s`,
    'sent late',
    'memory, MB',
  ];
  const rule = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [head, rule, ...results.map(row)].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
};

const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
};
