import { BARE_NODE, BARE_NODE_WITH_LOG, NGINX, VARNISH } from './peers.ts';
import { RATES, type Summary, type TailSummary } from './report.ts';
import { BEHIND_LOAD_BALANCER } from './scenarios.ts';
import { SERVICE } from './service.ts';

// What the service is meant to reach. The bench prints an account; it does not fail, because a busy
// machine can change any of the figures.

export interface Target {
  readonly name: string;
  readonly limit: number;
  /** NaN, written as null, if a program was not measured. */
  readonly value: number;
}

export const targetsOfPeers = (summaries: readonly Summary[]): Target[] => {
  const first = summaries.filter(({ scenario }) => scenario === BEHIND_LOAD_BALANCER.name);
  const of = (peer: string, figure: 'cpuUs' | 'p99Ms' | 'peakRssMb'): number =>
    first.find((row) => row.peer === peer)?.[figure] ?? Number.NaN;
  const ratio = (peer: string, figure: 'cpuUs' | 'p99Ms'): number =>
    of(SERVICE, figure) / of(peer, figure);
  return [
    { name: `CPU time / that of ${VARNISH}`, limit: 0.6, value: ratio(VARNISH, 'cpuUs') },
    { name: `CPU time / that of ${NGINX}`, limit: 1.05, value: ratio(NGINX, 'cpuUs') },
    { name: `CPU time / that of ${BARE_NODE}`, limit: 0.8, value: ratio(BARE_NODE, 'cpuUs') },
    {
      name: `CPU time / that of ${BARE_NODE_WITH_LOG}`,
      limit: 0.6,
      value: ratio(BARE_NODE_WITH_LOG, 'cpuUs'),
    },
    { name: `p99 at full load / that of ${BARE_NODE}`, limit: 1, value: ratio(BARE_NODE, 'p99Ms') },
    { name: 'most resident memory at full load, MB', limit: 120, value: of(SERVICE, 'peakRssMb') },
  ];
};

export const targetsOfTail = (summaries: readonly TailSummary[]): Target[] =>
  Object.values(RATES).map((rate) => {
    const p99Of = (peer: string): number =>
      summaries.find((row) => row.peer === peer && row.rate === rate)?.p99Ms ?? Number.NaN;
    return {
      name: `p99 at ${rate} / that of ${NGINX}`,
      limit: 1.5,
      value: p99Of(SERVICE) / p99Of(NGINX),
    };
  });

export const describe = ({ name, limit, value }: Target): string => {
  if (Number.isNaN(value)) return `not measured  ${name}`;
  return `${value <= limit ? 'met' : 'not met'}  ${name}: ${value.toFixed(2)}, at most ${limit}`;
};
