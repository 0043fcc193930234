import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { LOAD_CPU, type Running } from './processes.ts';

// What the load asks for, and one measurement of it by wrk.

type Headers = Readonly<Record<string, string>>;

export interface Scenario {
  readonly name: string;
  readonly connections: number;
  readonly headers: (etag: string) => Headers;
  /** Whether load.lua gives each request an address, id, browser and cookie of its own. */
  readonly isVaried: boolean;
}

/** Of a same-origin fetch in Chromium, without User-Agent. */
const CHROMIUM: Headers = {
  'sec-ch-ua-platform': '"Linux"',
  'sec-ch-ua': '"Google Chrome";v="131", "Chromium";v="131", "Not_A Brand";v="24"',
  'sec-ch-ua-mobile': '?0',
  Accept: '*/*',
  'Sec-Fetch-Site': 'same-origin',
  'Sec-Fetch-Mode': 'cors',
  'Sec-Fetch-Dest': 'empty',
  Referer: 'https://banks.example/',
  'Accept-Encoding': 'gzip, deflate, br, zstd',
  'Accept-Language': 'pt-BR,pt;q=0.9,en-US;q=0.8,en;q=0.7',
};

/** Browsers behind a load balancer, no two requests alike. */
export const VARIED: Scenario = {
  name: 'varied',
  connections: 64,
  headers: () => CHROMIUM,
  isVaried: true,
};

export const SCENARIOS: readonly Scenario[] = [
  VARIED,
  {
    name: 'load balancer',
    connections: 8,
    headers: () => ({ 'X-Forwarded-For': '203.0.113.7', 'Accept-Encoding': 'gzip, br' }),
    isVaried: false,
  },
  {
    name: '304',
    connections: 64,
    headers: (etag) => ({ ...CHROMIUM, 'If-None-Match': etag }),
    isVaried: false,
  },
];

export interface Load {
  readonly scenario: Scenario;
  readonly etag: string;
  readonly seconds: number;
  /** Requests per second; without it, each connection sends its next request at once. */
  readonly rate?: number;
}

export interface Sample {
  /** CPU time per request. */
  readonly cpuUs: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** At a constant rate: the share of requests that were sent more than 2 ms late. */
  readonly late: number;
}

/** What load.lua prints. */
interface Printed extends Omit<Sample, 'cpuUs' | 'requestsPerSecond'> {
  readonly requests: number;
  readonly seconds: number;
  readonly failed: number;
  readonly sent: number;
}

/** At a constant rate a connection waits for its turn, so all requests in flight need one. */
const CONNECTIONS_AT_A_RATE = 256;

/** @throws {Error} if a request failed, or had a status other than 2xx or 3xx */
export const measure = async (running: Running, url: string, load: Load): Promise<Sample> => {
  const { scenario, etag, seconds, rate } = load;
  const connections = rate === undefined ? scenario.connections : CONNECTIONS_AT_A_RATE;
  const headers = Object.entries(scenario.headers(etag)).flatMap(([name, value]) => [
    '-H',
    `${name}: ${value}`,
  ]);
  const wrk = `wrk -t1 -c${connections} -d${seconds}s --timeout 10s -s tools/bench/load.lua`;
  const variation = scenario.isVaried ? ['--', 'varied', ...(rate ? [String(rate)] : [])] : [];
  const args = ['-c', LOAD_CPU, ...wrk.split(' '), ...headers, url, ...variation];
  const before = running.cpuUs();
  const { stdout } = await promisify(execFile)('taskset', args);
  const cpuUs = running.cpuUs() - before;
  const printed: Printed = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  if (printed.requests === 0 || printed.failed > 0)
    throw new Error(`${url}: ${printed.failed} of ${printed.requests} requests failed`);
  return {
    ...printed,
    cpuUs: cpuUs / printed.requests,
    requestsPerSecond: printed.requests / printed.seconds,
    late: printed.late / Math.max(1, printed.sent),
  };
};
