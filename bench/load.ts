import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { get } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { LOAD_CPU, type Running } from './processes.ts';

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

export interface Sample {
  readonly cpuUs: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rssMb: number;
}

/** The headers of a same-origin fetch in Chromium. */
export const CHROME: RequestHeaders = {
  Connection: 'keep-alive',
  'sec-ch-ua-platform': '"Linux"',
  'User-Agent':
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  'sec-ch-ua': '"Google Chrome";v="131", "Chromium";v="131", "Not_A Brand";v="24"',
  'sec-ch-ua-mobile': '?0',
  Accept: '*/*',
  'Sec-Fetch-Site': 'same-origin',
  'Sec-Fetch-Mode': 'cors',
  'Sec-Fetch-Dest': 'empty',
  Referer: 'http://127.0.0.1:3000/',
  'Accept-Encoding': 'gzip, deflate, br, zstd',
  'Accept-Language': 'pt-BR,pt;q=0.9,en-US;q=0.8,en;q=0.7',
};

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
  readonly seconds: number;
}

const CONNECTIONS = 64;

/**
 * Runs wrk against a running program.
 * @throws {Error} if a response had a status other than 2xx or 3xx, or a connection failed
 */
export const measure = async (running: Running, { url, headers, seconds }: Load): Promise<Sample> => {
  const before = running.cpuUs();
  const { stdout } = await promisify(execFile)('taskset', [
    '-c',
    LOAD_CPU,
    ...`wrk -t1 -c${CONNECTIONS} -d${seconds}s --timeout 10s --latency`.split(' '),
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    url,
  ]);
  const cpuUs = running.cpuUs() - before;
  const bad = /Non-2xx.*|Socket errors.*/.exec(stdout)?.[0];
  if (bad) throw new Error(bad);
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  return {
    cpuUs: cpuUs / requests,
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p50Ms: toMs(/^\s+50%\s+(\S+)/m.exec(stdout)?.[1]),
    p99Ms: toMs(/^\s+99%\s+(\S+)/m.exec(stdout)?.[1]),
    rssMb: running.rssMb(),
  };
};

const toMs = (text = ''): number => {
  const [, number = '', unit = ''] = /^([\d.]+)(us|ms|s)$/.exec(text) ?? [];
  return Number(number) * ({ us: 0.001, ms: 1, s: 1_000 }[unit] ?? Number.NaN);
};
