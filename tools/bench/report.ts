import { median } from './median.ts';
import type { Sample } from './load.ts';

// Tables of the samples. They show medians, because other load on the machine distorts some of the
// samples, and minima, because they are the least distorted.

export interface Result {
  readonly peer: string;
  readonly scenario: string;
  readonly wireBytes: number;
  readonly samples: readonly Sample[];
}

export interface Summary {
  readonly peer: string;
  readonly scenario: string;
  readonly wireBytes: number;
  readonly cpuUs: number;
  readonly cpuUsMin: number;
  readonly cpuUsMax: number;
  /**
   * The peer's CPU time divided by the service's, the median of all turns: above 1 the service is
   * cheaper.
   */
  readonly ratio: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The most in any round, after the load and during it. */
  readonly rssMb: number;
  readonly peakRssMb: number;
  readonly generatorBusy: number;
}

export const RATES = {
  own: 'half of its own full load',
  nginx: "half of nginx's full load",
} as const;

export interface TailResult {
  readonly peer: string;
  readonly rate: (typeof RATES)[keyof typeof RATES];
  readonly samples: readonly TailSample[];
}

export interface TailSample extends Sample {
  readonly fullLoadPerSecond: number;
  readonly ratePerSecond: number;
}

export interface TailSummary {
  readonly peer: string;
  readonly rate: string;
  readonly fullLoadPerSecond: number;
  readonly ratePerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly late: number;
  readonly latestMs: number;
  readonly generatorBusy: number;
}

export const summarise = (results: readonly Result[], service: string): Summary[] => {
  const costs = (peer: string, scenario: string): number[] =>
    results
      .filter((result) => result.peer === peer && result.scenario === scenario)
      .flatMap(({ samples }) => samples.map(({ cpuUs }) => cpuUs));
  return results
    .filter(({ samples }) => samples.length > 0)
    .map(({ peer, scenario, wireBytes, samples }) => {
      const peerCosts = costs(peer, scenario);
      const serviceCosts = costs(service, scenario);
      const of = (name: keyof Sample): number => median(samples.map((sample) => sample[name]));
      return {
        peer,
        scenario,
        wireBytes,
        cpuUs: median(peerCosts),
        cpuUsMin: Math.min(...peerCosts),
        cpuUsMax: Math.max(...peerCosts),
        ratio: median(peerCosts.map((cost, turn) => cost / (serviceCosts[turn] ?? Number.NaN))),
        requestsPerSecond: of('requestsPerSecond'),
        p50Ms: of('p50Ms'),
        p99Ms: of('p99Ms'),
        rssMb: Math.max(...samples.map(({ rssMb }) => rssMb)),
        peakRssMb: Math.max(...samples.map(({ peakRssMb }) => peakRssMb)),
        generatorBusy: of('generatorBusy'),
      };
    });
};

export const summariseTail = (results: readonly TailResult[]): TailSummary[] =>
  results.map(({ peer, rate, samples }) => {
    const of = (name: keyof TailSample): number => median(samples.map((sample) => sample[name]));
    return {
      peer,
      rate,
      fullLoadPerSecond: of('fullLoadPerSecond'),
      ratePerSecond: of('ratePerSecond'),
      p50Ms: of('p50Ms'),
      p99Ms: of('p99Ms'),
      p999Ms: of('p999Ms'),
      late: of('late'),
      latestMs: of('latestMs'),
      generatorBusy: of('generatorBusy'),
    };
  });

export interface StartSummary {
  readonly peer: string;
  readonly medianMs: number;
  readonly minMs: number;
  readonly medianCpuMs: number;
  /** A second after the first response. */
  readonly rssAtRestMb: number;
}

const COLUMNS: readonly (readonly [title: string, cell: (row: Summary) => string])[] = [
  ['CPU µs', ({ cpuUs }) => cpuUs.toFixed(1)],
  ['least to most', ({ cpuUsMin, cpuUsMax }) => `${cpuUsMin.toFixed(1)} to ${cpuUsMax.toFixed(1)}`],
  ['requests/s', ({ requestsPerSecond }) => requestsPerSecond.toFixed(0)],
  ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(1)],
  ['most memory, MB', ({ peakRssMb }) => peakRssMb.toFixed(0)],
];

const percent = (share: number, digits: number): string => `${(share * 100).toFixed(digits)} %`;

const START_COLUMNS: readonly (readonly [title: string, cell: (row: StartSummary) => string])[] = [
  ['ms to the first response', ({ medianMs }) => medianMs.toFixed(0)],
  ['least', ({ minMs }) => minMs.toFixed(0)],
  ['CPU ms', ({ medianCpuMs }) => medianCpuMs.toFixed(0)],
  ['memory at rest, MB', ({ rssAtRestMb }) => rssAtRestMb.toFixed(0)],
];

const TAIL_COLUMNS: readonly (readonly [title: string, cell: (row: TailSummary) => string])[] = [
  ['full load, req/s', ({ fullLoadPerSecond }) => fullLoadPerSecond.toFixed(0)],
  ['req/s', ({ ratePerSecond }) => ratePerSecond.toFixed(0)],
  ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(2)],
  ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(2)],
  ['p99.9 ms', ({ p999Ms }) => p999Ms.toFixed(2)],
  ['sent late', ({ late }) => percent(late, 2)],
];

/**
 * Two Markdown tables: all figures of the first scenario, the programs that take least CPU time
 * first, and the CPU time of all scenarios, with its ratio to that of the service.
 */
export const toMarkdown = (summaries: readonly Summary[], node: string): string => {
  const scenarios = [...new Set(summaries.map(({ scenario }) => scenario))];
  const inScenario = (scenario = ''): Summary[] =>
    summaries
      .filter((row) => row.scenario === scenario)
      .toSorted((one, other) => one.cpuUs - other.cpuUs);
  const first = inScenario(scenarios[0]);
  const cpuTimes = scenarios.map((scenario) => {
    const rows = new Map(inScenario(scenario).map((row) => [row.peer, row]));
    const cell = ({ peer }: Summary): string => {
      const row = rows.get(peer);
      return row ? `${row.cpuUs.toFixed(1)} (${row.ratio.toFixed(2)})` : '';
    };
    return [scenario, cell] as const;
  });
  return [
    toTable(`${scenarios[0] ?? ''}, ${node}`, COLUMNS, first),
    toTable(`CPU µs (of the service's), ${node}`, cpuTimes, first),
  ].join('\n\n');
};

export const startsToMarkdown = (starts: readonly StartSummary[], node: string): string =>
  toTable(`start, ${node}`, START_COLUMNS, starts);

/** One Markdown table per rate. */
export const tailToMarkdown = (summaries: readonly TailSummary[], node: string): string =>
  [...new Set(summaries.map(({ rate }) => rate))]
    .map((rate) =>
      toTable(
        `${rate}, ${node}`,
        TAIL_COLUMNS,
        summaries.filter((row) => row.rate === rate),
      ),
    )
    .join('\n\n');

const toTable = <Row extends { readonly peer: string }>(
  title: string,
  columns: readonly (readonly [title: string, cell: (row: Row) => string])[],
  rows: readonly Row[],
): string =>
  [
    `| ${[title, ...columns.map(([column]) => column)].join(' | ')} |`,
    `| --- |${' ---: |'.repeat(columns.length)}`,
    ...rows.map((row) => `| ${[row.peer, ...columns.map(([, cell]) => cell(row))].join(' | ')} |`),
  ].join('\n');
