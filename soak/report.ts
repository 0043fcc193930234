import { arch, cpus, platform, totalmem } from 'node:os';
import type { Failure } from './findings.ts';

// The figures of the run, whether they are flat, and both as Markdown.

export interface Sample {
  readonly second: number;
  readonly quarter: number;
  readonly rssMb: number;
  readonly heapUsedMb: number;
  readonly externalMb: number;
  readonly fds: number;
  readonly connections: number;
  readonly eventLoopDelayP99Ms: number;
  readonly metricSeries: number;
}

/** After a quarter, without clients and after garbage collection. */
export interface Rest {
  readonly quarter: number;
  /** Of the quarter before, of one core. */
  readonly cpuPercent: number;
  readonly heldMb: number;
  readonly rssMb: number;
  readonly fds: number;
}

export interface Report {
  readonly node: string;
  readonly machine: string;
  readonly seed: number;
  readonly minutes: number;
  readonly requestsPerSecond: number;
  /** Of the time in which other programs kept the service from running, so that lateness was not judged strictly. */
  readonly starvedPercent: number;
  readonly cpuPercentOfOneCore: number;
  /** Of the clients, the provider and the judges. */
  readonly soakCpuPercentOfOneCore: number;
  readonly answers: number;
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly providerCalls: Readonly<Record<string, number>>;
  readonly listVersions: number;
  readonly logLines: number;
  readonly exitStatus: number | null;
  readonly notAllowed: number;
  readonly notFlat: readonly string[];
  readonly quarters: readonly Figures[];
  readonly rests: readonly Rest[];
  readonly counts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly failuresBySort: Readonly<Record<string, number>>;
  readonly failures: readonly Failure[];
}

type Figures = Omit<Sample, 'second'> & { readonly samples: number; readonly maxRssMb: number };

export const describeMachine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}`;

const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
};

const round = (value: number): number => Math.round(value * 100) / 100;

/** The medians of each quarter's samples. */
export const toQuarters = (samples: readonly Sample[]): Figures[] =>
  [1, 2, 3, 4].map((quarter) => {
    const own = samples.filter((sample) => sample.quarter === quarter);
    const of = (name: keyof Sample): number => round(median(own.map((sample) => sample[name])));
    return {
      quarter,
      samples: own.length,
      rssMb: of('rssMb'),
      maxRssMb: round(Math.max(...own.map(({ rssMb }) => rssMb))),
      heapUsedMb: of('heapUsedMb'),
      externalMb: of('externalMb'),
      fds: of('fds'),
      connections: of('connections'),
      eventLoopDelayP99Ms: of('eventLoopDelayP99Ms'),
      metricSeries: of('metricSeries'),
    };
  });

/**
 * How much the last quarter's median may be above the second's. New series come with combinations of labels that are rare; one for each
 * path or client would be thousands.
 */
const MAX_GROWTH = { rssMb: 15, heapUsedMb: 10, externalMb: 5, fds: 20, metricSeries: 500 } as const;
/** How much the rest after the last quarter may differ from that after the first. */
const MAX_HELD_GROWTH_MB = 5;
const MAX_FDS_DIFFERENCE = 5;
/** The container's limit in deploy/kubernetes. */
const MAX_RSS_MB = 256;

/** What is not flat; empty: everything is. */
export const findGrowth = (quarters: readonly Figures[], rests: readonly Rest[]): string[] => {
  const [, second, , last] = quarters;
  const [firstRest, lastRest] = [rests[0], rests.at(-1)];
  if (!second || !last || !firstRest || !lastRest || rests.length < 4) return ['the run was not finished'];
  const grown = Object.entries(MAX_GROWTH)
    .map(
      ([name, limit]) =>
        [name, Number(Reflect.get(last, name)) - Number(Reflect.get(second, name)), limit] as const,
    )
    .filter(([, growth, limit]) => !(growth <= limit))
    .map(([name, growth, limit]) => `${name}: ${round(growth)} above the second quarter, at most ${limit}`);
  const heldMb = lastRest.heldMb - firstRest.heldMb;
  if (!(heldMb < MAX_HELD_GROWTH_MB))
    grown.push(`memory after garbage collection grew by ${round(heldMb)} MB`);
  const fds = lastRest.fds - firstRest.fds;
  if (!(Math.abs(fds) <= MAX_FDS_DIFFERENCE)) grown.push(`file descriptors at rest: ${fds} more`);
  const highest = Math.max(...quarters.map(({ maxRssMb }) => maxRssMb));
  if (!(highest < MAX_RSS_MB)) grown.push(`${highest} MB resident, of ${MAX_RSS_MB}`);
  return grown;
};

const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [head, head.map((_name, index) => (index === 0 ? '---' : '---:')), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');

export const toMarkdown = (report: Report): string => {
  const figures = [
    ['resident memory, median, MB', 'rssMb'],
    ['resident memory, highest, MB', 'maxRssMb'],
    ['heap in use, median, MB', 'heapUsedMb'],
    ['external memory, median, MB', 'externalMb'],
    ['file descriptors, median', 'fds'],
    ['connections, median', 'connections'],
    ['event loop delay p99, median, ms', 'eventLoopDelayP99Ms'],
  ] as const;
  const rests = [
    ['processor time, % of one core', 'cpuPercent'],
    ['at rest: memory after garbage collection, MB', 'heldMb'],
    ['at rest: resident memory, MB', 'rssMb'],
    ['at rest: file descriptors', 'fds'],
  ] as const;
  const rows = [
    ...figures.map(([title, name]) => [title, ...report.quarters.map((quarter) => quarter[name])]),
    ...rests.map(([title, name]) => [title, ...report.rests.map((rest) => round(rest[name]))]),
  ];
  const counts = Object.entries(report.counts).map(([kind, outcomes]) => [
    kind,
    Object.entries(outcomes)
      .map(([outcome, count]) => `${outcome}: ${count}`)
      .join(', '),
  ]);
  return [
    `Node ${report.node}, ${report.machine}; seed ${report.seed}; ${report.minutes} minutes, ${report.requestsPerSecond} requests a second,` +
      ` ${report.cpuPercentOfOneCore} % of one core; the machine was too busy for ${report.starvedPercent} % of the time.`,
    `${report.answers} ordinary answers with a list: p50 ${report.latencyMs.p50} ms, p99 ${report.latencyMs.p99} ms, slowest ${report.latencyMs.max} ms.` +
      ` ${report.listVersions} lists, calls to the provider ${JSON.stringify(report.providerCalls)}, ${report.logLines} log lines.`,
    `Not allowed: ${report.notAllowed}. Not flat: ${report.notFlat.join('; ') || 'nothing'}.`,
    table(['quarter', '1', '2', '3', '4'], rows),
    table(['kind of request', 'answers'], counts),
  ].join('\n\n');
};

export const summariseLatencies = (latenciesMs: Float64Array, count: number): Report['latencyMs'] => {
  const sorted = latenciesMs.slice(0, count).toSorted();
  const at = (share: number): number =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
};
