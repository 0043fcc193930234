import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { get } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { LOAD_CPU, stolenSeconds, type Running } from './processes.ts';

// HTTP requests: single ones that are inspected, and load from wrk that is measured.

export type RequestHeaders = Readonly<Record<string, string>>;

export interface Inspected {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  /** The Content-Encoding, or `identity`. */
  readonly encoding: string;
  readonly etag: string;
  readonly body: Buffer;
  /** Bytes received, head and body. */
  readonly wireBytes: number;
}

/** Sends one GET request on a connection of its own. */
export const inspect = (url: string, headers: RequestHeaders): Promise<Inspected> =>
  new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      const { socket } = res;
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () =>
        resolve({
          status: res.statusCode ?? 0,
          rawHeaders: res.rawHeaders,
          encoding: res.headers['content-encoding'] ?? 'identity',
          etag: res.headers.etag ?? '',
          body: Buffer.concat(chunks),
          wireBytes: socket.bytesRead,
        }),
      );
    });
    request.on('error', reject);
  });

export const decode = ({ encoding, body }: Inspected): Buffer => {
  if (encoding === 'br') return brotliDecompressSync(body);
  return encoding === 'gzip' ? gunzipSync(body) : body;
};

export interface Load {
  readonly url: string;
  readonly headers: RequestHeaders;
  /** Whether each request has an address and an id of its own, as behind a load balancer. */
  readonly differs: boolean;
  readonly seconds: number;
  /** Requests per second; without it, each connection sends its next request at once. */
  readonly rate?: number;
}

export interface Sample {
  readonly cpuUs: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Resident memory after the load, and the most during it. */
  readonly rssMb: number;
  readonly peakRssMb: number;
  /** The share of its CPU that wrk used. */
  readonly generatorBusy: number;
  /** At a constant rate: the share of requests that were sent more than 2 ms late, and the most that one was late. */
  readonly late: number;
  readonly latestMs: number;
  /** The share of the CPUs' time that the hypervisor gave to other machines. */
  readonly stolen: number;
}

/** What tools/bench/load.lua prints. */
interface Printed {
  readonly requests: number;
  readonly seconds: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly busy: number;
  readonly sent: number;
  readonly late: number;
  readonly latestMs: number;
}

const CONNECTIONS = 64;
/** At a constant rate a connection waits for its turn, so there must be enough for all requests in flight. */
const CONNECTIONS_AT_A_RATE = 256;

/**
 * Runs wrk against a running program.
 * @throws {Error} if a response had a status other than 2xx or 3xx, a connection failed, or no response came
 */
export const measure = async (running: Running, load: Load): Promise<Sample> => {
  running.resetPeakRss();
  const before = running.cpuUs();
  const stolenBefore = stolenSeconds();
  const { stdout } = await promisify(execFile)('taskset', [
    '-c',
    LOAD_CPU,
    'wrk',
    ...wrkArguments(load),
  ]);
  const cpuUs = running.cpuUs() - before;
  const printed: Printed = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  if (printed.requests === 0) throw new Error('not one response');
  if (printed.failed > 0)
    throw new Error(`${printed.failed} of ${printed.requests} requests failed`);
  const { requests, seconds, p50Ms, p99Ms, p999Ms, busy, sent, late, latestMs } = printed;
  return {
    cpuUs: cpuUs / requests,
    requestsPerSecond: requests / seconds,
    p50Ms,
    p99Ms,
    p999Ms,
    rssMb: running.rssMb(),
    peakRssMb: running.peakRssMb(),
    generatorBusy: busy,
    late: sent === 0 ? 0 : late / sent,
    latestMs,
    stolen: (stolenSeconds() - stolenBefore) / seconds,
  };
};

const wrkArguments = ({ url, headers, differs, seconds, rate }: Load): string[] => {
  const connections = rate === undefined ? CONNECTIONS : CONNECTIONS_AT_A_RATE;
  const options = `-t1 -c${connections} -d${seconds}s --timeout 10s -s tools/bench/load.lua`.split(
    ' ',
  );
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  if (!differs) return [...options, ...lines.flatMap((line) => ['-H', line]), url];
  const text = lines.map((line) => `${line}\r\n`).join('');
  return [...options, url, '--', text, ...(rate === undefined ? [] : [String(rate)])];
};
