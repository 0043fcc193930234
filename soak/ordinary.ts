import { Pool, type Dispatcher } from 'undici';
import type { Findings } from './findings.ts';
import { pause } from './gate.ts';
import type { Answer, Oracle, When } from './oracle.ts';
import { ORIGIN } from './policy.ts';

// What browsers send through a load balancer: kept connections, and requests that all differ.

interface Request {
  readonly kind: string;
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Those that are allowed while there is a list. */
  readonly statuses: readonly number[];
}

export interface Clients {
  /** Sends one request, and judges its answer. Never rejects. */
  send(): Promise<void>;
  /** Closes the connections; later requests make new ones. */
  close(): Promise<void>;
  /** Of the answers with a list so far, in milliseconds. */
  readonly latenciesMs: Float64Array;
  count(): number;
}

const CONNECTIONS = 48;
const MAX_REPEATS = 10;
const ANSWER_WITHIN_MS = 30_000;

const BROWSERS = [
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0',
  'python-requests/2.32.3',
  'undici',
];
const ENCODINGS = ['gzip, deflate, br, zstd', 'gzip, deflate, br', 'gzip', 'br;q=1.0, gzip;q=0.8, *;q=0.1'];
const UNUSUAL_ENCODINGS = [
  '*',
  'identity',
  'identity;q=0, *;q=0',
  'br;q=0, gzip;q=0.001',
  'x-gzip',
  'GZIP;Q=1',
  'compress, , ,br ; q=0.5',
  ';;;',
  'zstd',
  'gzip;q=2',
];
/** The latest: an hour has far more than are of interest. */
const REMEMBERED_LATENCIES = 200_000;

export const createClients = (options: {
  readonly url: string;
  readonly random: () => number;
  readonly oracle: Oracle;
  readonly findings: Findings;
}): Clients => {
  const { random, oracle, findings } = options;
  const newPool = (): Pool =>
    new Pool(options.url, { connections: CONNECTIONS, headersTimeout: ANSWER_WITHIN_MS });
  let pool = newPool();
  const latenciesMs = new Float64Array(REMEMBERED_LATENCIES);
  let answered = 0;
  let sent = 0;
  const pick = <T>(items: readonly T[]): T => {
    const item = items[Math.floor(random() * items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  };
  const byte = (): number => Math.floor(random() * 256);

  const choose = (): Request => {
    const get = { method: 'GET', path: '/banks', statuses: [200] };
    const choice = random();
    const headers = { 'Accept-Encoding': pick(ENCODINGS) };
    if (choice < 0.62) return { ...get, kind: 'ordinary', headers };
    if (choice < 0.85) {
      const etags = oracle.etags();
      const etag = etags.length === 0 ? '"none"' : pick(etags);
      const value = pick([etag, etag, `W/${etag}`, `"other", ${etag}`]);
      return {
        ...get,
        kind: 'revalidation',
        headers: { ...headers, 'If-None-Match': value },
        statuses: [200, 304],
      };
    }
    if (choice < 0.88) return { ...get, kind: 'HEAD', method: 'HEAD', headers };
    if (choice < 0.91)
      return {
        ...get,
        kind: 'other origin',
        headers: { ...headers, Origin: pick([ORIGIN, 'https://a.example', 'null']) },
      };
    if (choice < 0.93) return { ...get, kind: 'identity', headers: {} };
    if (choice < 0.95)
      return { ...get, kind: 'unusual encoding', headers: { 'Accept-Encoding': pick(UNUSUAL_ENCODINGS) } };
    if (choice < 0.96)
      return {
        ...get,
        kind: 'query and no-cache',
        path: `/banks?_=${random()}&a[]=%zz`,
        headers: { ...headers, 'Cache-Control': 'no-cache', Cookie: `id=${random()}` },
      };
    if (choice < 0.97)
      return {
        kind: 'preflight',
        method: 'OPTIONS',
        path: '/banks',
        headers: { Origin: ORIGIN, 'Access-Control-Request-Method': 'GET' },
        statuses: [204],
      };
    if (choice < 0.98)
      return { ...get, kind: 'If-Match', headers: { 'If-Match': '"never"' }, statuses: [412] };
    return pick<Request>([
      { ...get, kind: 'openapi', path: '/openapi.json', headers, statuses: [200] },
      { ...get, kind: 'no such path', path: `/${sent}/../wp-login.php`, headers, statuses: [404] },
      {
        ...get,
        kind: 'other method',
        method: pick(['POST', 'PUT', 'DELETE', 'PATCH']),
        headers: { 'Content-Length': '0' },
        statuses: [405],
      },
    ]);
  };

  const exchange = async ({ method, path }: Request, headers: Record<string, string>): Promise<Answer> => {
    const response = await pool.request({ method, path, headers });
    return {
      status: response.statusCode,
      header: (name) => {
        const value = response.headers[name];
        return Array.isArray(value) ? value.join(', ') : value;
      },
      body: Buffer.from(await response.body.arrayBuffer()),
    };
  };

  const judge = (what: Request, answer: Answer, when: When, requestId: string): string | undefined => {
    const wrong = oracle.judge(answer, when);
    if (wrong) return wrong;
    if (answer.header('x-request-id') !== requestId) return 'another X-Request-Id';
    if (what.kind === 'other origin' && what.headers['Origin'] === ORIGIN && answer.status < 500)
      if (answer.header('access-control-allow-origin') !== ORIGIN) return 'no Access-Control-Allow-Origin';
    const lacksList = answer.status >= 502 && answer.status <= 504 && what.path.startsWith('/banks');
    const isRefused = answer.status === 503 && oracle.isFlooded(when);
    if (!what.statuses.includes(answer.status) && !lacksList && !isRefused) return `status ${answer.status}`;
    const isConfirmed = what.headers['If-None-Match']?.includes(answer.header('etag') ?? '-');
    if (what.kind === 'revalidation' && isConfirmed !== (answer.status === 304) && answer.status < 500)
      return `${answer.status} for ${what.headers['If-None-Match']}`;
    return undefined;
  };

  const send = async (repeats: number, what = choose()): Promise<void> => {
    sent += 1;
    const requestId = `soak-${sent}`;
    const ip = random() < 0.9 ? `203.0.${byte()}.${byte()}` : `2001:db8::${byte().toString(16)}:1`;
    const trace = random() < 0.3 ? { traceparent: `00-${hex(random, 32)}-${hex(random, 16)}-01` } : {};
    const headers = {
      Host: 'banks.example',
      'X-Forwarded-For': random() < 0.2 ? `198.51.100.${byte()}, ${ip}` : ip,
      'X-Forwarded-Proto': 'https',
      'X-Request-Id': requestId,
      'User-Agent': pick(BROWSERS),
      Accept: '*/*',
      ...what.headers,
      ...trace,
    };
    const sentMs = performance.now();
    try {
      const answer = await exchange(what, headers);
      const when = { sentMs, receivedMs: performance.now() };
      findings.count(what.kind, answer.status);
      if (answer.status === 200) latenciesMs[answered++ % REMEMBERED_LATENCIES] = when.receivedMs - sentMs;
      const wrong = judge(what, answer, when, requestId);
      if (wrong) findings.fail(what.kind, wrong, describe(what, answer));
    } catch (error) {
      const when = { sentMs, receivedMs: performance.now() };
      // To make room, idle connections are closed, also new ones that have not been read yet; a load balancer repeats what
      // was lost with them.
      if (oracle.isFlooded(when) && repeats < MAX_REPEATS) {
        findings.count(what.kind, 'lost in a flood, repeated');
        await pause(200);
        await send(repeats + 1, what);
      } else {
        findings.count(what.kind, 'no answer');
        findings.fail(what.kind, `no answer: ${String(error)}`, JSON.stringify(what));
      }
    }
  };

  return {
    send: () => send(0),
    close: async () => {
      await pool.destroy();
      pool = newPool();
    },
    latenciesMs,
    count: () => answered,
  };
};

const describe = (what: Request, answer: Answer): string =>
  JSON.stringify({
    ...what,
    status: answer.status,
    etag: answer.header('etag'),
    cacheControl: answer.header('cache-control'),
    cacheStatus: answer.header('cache-status'),
    body: answer.status >= 400 ? answer.body.toString().slice(0, 300) : `${answer.body.length} bytes`,
  });

/** Not all zeros, which would be invalid. */
const hex = (random: () => number, length: number): string =>
  `1${Array.from({ length: length - 1 }, () => Math.floor(random() * 16).toString(16)).join('')}`;
