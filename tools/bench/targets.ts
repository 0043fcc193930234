import { BARE_NODE, BARE_NODE_WITH_LOG, NGINX, VARNISH } from './peers.ts';
import { RATES, type Summary, type TailSummary } from './report.ts';
import { BEHIND_LOAD_BALANCER, REVALIDATION, VARIED, type Scenario } from './scenarios.ts';
import { SERVICE, SERVICE_WITHOUT_HOT_PATH } from './service.ts';

// What the service is meant to reach. The bench prints an account; it does not fail, because a busy
// machine can change any of the figures.

export interface Target {
  readonly name: string;
  readonly limit: number;
  /** NaN, written as null, if a program was not measured. */
  readonly value: number;
}

export const targetsOfPeers = (summaries: readonly Summary[]): Target[] => {
  const find = (peer: string, scenario: Scenario = BEHIND_LOAD_BALANCER): Summary | undefined =>
    summaries.find((row) => row.peer === peer && row.scenario === scenario.name);
  const cpu = (peer: string, scenario?: Scenario): number =>
    1 / (find(peer, scenario)?.ratio ?? Number.NaN);
  return [
    { name: `CPU time / that of ${VARNISH}`, limit: 0.6, value: cpu(VARNISH) },
    { name: `CPU time / that of ${NGINX}`, limit: 1.05, value: cpu(NGINX) },
    { name: `${VARIED.name}: CPU time / that of ${NGINX}`, limit: 1, value: cpu(NGINX, VARIED) },
    {
      name: `${REVALIDATION.name}: CPU time / that of ${NGINX}`,
      limit: 1.25,
      value: cpu(NGINX, REVALIDATION),
    },
    { name: `CPU time / that of ${BARE_NODE}`, limit: 0.8, value: cpu(BARE_NODE) },
    {
      name: `CPU time / that of ${BARE_NODE_WITH_LOG}`,
      limit: 0.6,
      value: cpu(BARE_NODE_WITH_LOG),
    },
    {
      name: `${SERVICE_WITHOUT_HOT_PATH}: CPU time / that of ${BARE_NODE_WITH_LOG}`,
      limit: 2,
      value: cpu(BARE_NODE_WITH_LOG) / cpu(SERVICE_WITHOUT_HOT_PATH),
    },
    {
      name: `p99 at full load / that of ${BARE_NODE}`,
      limit: 1,
      value: (find(SERVICE)?.p99Ms ?? Number.NaN) / (find(BARE_NODE)?.p99Ms ?? Number.NaN),
    },
    {
      name: 'most resident memory at full load, MB',
      limit: 120,
      value: find(SERVICE)?.peakRssMb ?? Number.NaN,
    },
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
