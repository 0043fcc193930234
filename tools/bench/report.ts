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
  /** The peer's median CPU time divided by the service's: above 1 the service is cheaper. */
  readonly ratio: number;
  readonly ratioOfMinima: number;
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

export const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
};

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
        ratio: median(peerCosts) / median(serviceCosts),
        ratioOfMinima: Math.min(...peerCosts) / Math.min(...serviceCosts),
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

const COLUMNS: readonly (readonly [title: string, cell: (row: Summary) => string])[] = [
  ['CPU µs', ({ cpuUs }) => cpuUs.toFixed(1)],
  ['min to max', ({ cpuUsMin, cpuUsMax }) => `${cpuUsMin.toFixed(1)} to ${cpuUsMax.toFixed(1)}`],
  ['ratio', ({ ratio }) => ratio.toFixed(2)],
  ['ratio of minima', ({ ratioOfMinima }) => ratioOfMinima.toFixed(2)],
  ['req/s', ({ requestsPerSecond }) => requestsPerSecond.toFixed(0)],
  ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(2)],
  ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(2)],
  ['bytes', ({ wireBytes }) => String(wireBytes)],
  ['RSS MB after', ({ rssMb }) => rssMb.toFixed(0)],
  ['most', ({ peakRssMb }) => peakRssMb.toFixed(0)],
  // One CPU: clearly less than 100 % means that other programs took some of it.
  [
    'server busy',
    ({ cpuUs, requestsPerSecond }) => percent((cpuUs * requestsPerSecond) / 1_000_000, 0),
  ],
  ['wrk busy', ({ generatorBusy }) => percent(generatorBusy, 0)],
];

const percent = (share: number, digits: number): string => `${(share * 100).toFixed(digits)} %`;

const TAIL_COLUMNS: readonly (readonly [title: string, cell: (row: TailSummary) => string])[] = [
  ['full load, req/s', ({ fullLoadPerSecond }) => fullLoadPerSecond.toFixed(0)],
  ['req/s', ({ ratePerSecond }) => ratePerSecond.toFixed(0)],
  ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(2)],
  ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(2)],
  ['p99.9 ms', ({ p999Ms }) => p999Ms.toFixed(2)],
  ['sent late', ({ late }) => percent(late, 2)],
  ['latest, ms', ({ latestMs }) => latestMs.toFixed(1)],
  ['wrk busy', ({ generatorBusy }) => percent(generatorBusy, 0)],
];

/** One Markdown table per scenario. */
export const toMarkdown = (summaries: readonly Summary[], node: string): string =>
  scenariosOf(summaries)
    .map((scenario) =>
      toTable(
        `${scenario}, ${node}`,
        COLUMNS,
        summaries.filter((row) => row.scenario === scenario),
      ),
    )
    .join('\n\n');

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

const scenariosOf = (summaries: readonly Summary[]): string[] => [
  ...new Set(summaries.map(({ scenario }) => scenario)),
];
