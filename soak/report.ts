import { arch, cpus, platform, totalmem } from 'node:os';
import type { Failure } from './findings.ts';

// The figures of the run, and whether they are flat.

/** Every some seconds, under load. */
export interface Sample {
  readonly second: number;
  readonly rssMb: number;
  readonly metricSeries: number;
  readonly eventLoopDelayP99Ms: number;
}

/** After a quarter, without clients and after garbage collection. */
export interface Rest {
  readonly quarter: number;
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
  readonly answers: number;
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly providerCalls: Readonly<Record<string, number>>;
  readonly listVersions: number;
  readonly logLines: number;
  readonly exitStatus: number | null;
  readonly notAllowed: number;
  readonly notFlat: readonly string[];
  readonly rests: readonly Rest[];
  readonly samples: readonly Sample[];
  readonly counts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly failures: readonly Failure[];
}

export const describeMachine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}`;

/** How much the rest after the last quarter may differ from that after the first. */
const MAX_HELD_GROWTH_MB = 5;
const MAX_FDS_DIFFERENCE = 5;
/** The container's limit in deploy/kubernetes. */
const MAX_RSS_MB = 256;
/** New series come with combinations of labels that are rare; one for each path or client would be thousands. */
const MAX_NEW_SERIES = 500;

/** What is not flat; empty: everything is. */
export const findGrowth = (samples: readonly Sample[], rests: readonly Rest[]): string[] => {
  const [firstRest, , , lastRest] = rests;
  const [firstSample, lastSample] = [samples[0], samples.at(-1)];
  if (!firstRest || !lastRest || !firstSample || !lastSample) return ['the run was not finished'];
  const heldMb = lastRest.heldMb - firstRest.heldMb;
  const fds = lastRest.fds - firstRest.fds;
  const series = lastSample.metricSeries - firstSample.metricSeries;
  const highestMb = Math.max(...samples.map(({ rssMb }) => rssMb));
  return [
    heldMb < MAX_HELD_GROWTH_MB || `memory after garbage collection grew by ${heldMb} MB`,
    Math.abs(fds) <= MAX_FDS_DIFFERENCE || `file descriptors at rest: ${fds} more`,
    series <= MAX_NEW_SERIES || `${series} new series of metrics`,
    highestMb < MAX_RSS_MB || `${highestMb} MB resident, of ${MAX_RSS_MB}`,
  ].filter((problem) => problem !== true);
};

export const summariseLatencies = (latenciesMs: Float64Array, count: number): Report['latencyMs'] => {
  const sorted = latenciesMs.slice(0, count).toSorted();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
};
