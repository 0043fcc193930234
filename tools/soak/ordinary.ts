import { Pool, type Dispatcher } from 'undici';
import { pause } from './gate.ts';
import type { Answer, When } from './oracle.ts';
import { ORIGIN } from './policy.ts';
import type { Soak } from './soak.ts';

// What browsers send through a load balancer: kept connections, and requests that all differ.

interface Request {
  readonly kind: string;
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Those that are allowed while there is a list. */
  readonly statuses: readonly number[];
}

const CONNECTIONS = 48;
const MAX_REPEATS = 10;
const ANSWER_WITHIN_MS = 30_000;

const ENCODINGS = [
  'gzip, deflate, br, zstd',
  'gzip, deflate, br',
  'gzip',
  'br;q=1.0, gzip;q=0.8, *;q=0.1',
];
const UNUSUAL_ENCODINGS = [
  '*',
  'identity',
  'br;q=0, gzip;q=0.001',
  'GZIP;Q=1',
  ';;;',
  'gzip;q=2',
  'zstd',
];
const PREFLIGHT = { Origin: ORIGIN, 'Access-Control-Request-Method': 'GET' };
/** The latest: an hour has far more than are of interest. */
const REMEMBERED_LATENCIES = 200_000;

export const createClients = ({ publicUrl, randomFor, oracle, findings }: Soak) => {
  const random = randomFor(3);
  const newPool = (): Pool =>
    new Pool(publicUrl, { connections: CONNECTIONS, headersTimeout: ANSWER_WITHIN_MS });
  let pool = newPool();
  /** Of the answers with a list, in milliseconds. */
  const latenciesMs: number[] = [];
  let answered = 0;
  let sent = 0;
  const pick = <T>(items: readonly T[]): T => {
    const item = items[Math.floor(random() * items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  };
  const byte = (): number => Math.floor(random() * 256);

  const get = (
    kind: string,
    headers: Request['headers'] = {},
    statuses: readonly number[] = [200],
  ): Request => ({
    kind,
    method: 'GET',
    path: '/banks',
    headers: { 'Accept-Encoding': pick(ENCODINGS), ...headers },
    statuses,
  });
  const revalidate = (): Request => {
    const etags = oracle.etags();
    const etag = etags.length === 0 ? '"none"' : pick(etags);
    return get(
      'revalidation',
      { 'If-None-Match': pick([etag, etag, `W/${etag}`, `"other", ${etag}`]) },
      [200, 304],
    );
  };
  /** What is sent, and how often in a hundred times. */
  const KINDS: readonly [percent: number, () => Request][] = [
    [62, () => get('ordinary')],
    [23, revalidate],
    [3, () => ({ ...get('HEAD'), method: 'HEAD' })],
    [3, () => get('other origin', { Origin: pick([ORIGIN, 'https://a.example', 'null']) })],
    [4, () => get('unusual encoding', { 'Accept-Encoding': pick(UNUSUAL_ENCODINGS) })],
    [
      1,
      () => ({
        ...get('query and no-cache', { 'Cache-Control': 'no-cache' }),
        path: `/banks?_=${random()}`,
      }),
    ],
    [1, () => ({ ...get('preflight', PREFLIGHT, [204]), method: 'OPTIONS' })],
    [1, () => get('If-Match', { 'If-Match': '"never"' }, [412])],
    [1, () => ({ ...get('openapi'), path: '/openapi.json' })],
    [1, () => ({ ...get('no such path', {}, [404]), path: `/${sent}/../wp-login.php` })],
  ];
  const hundred = KINDS.flatMap(([percent, make]) => Array.from({ length: percent }, () => make));
  const choose = (): Request => pick(hundred)();

  const exchange = async (
    { method, path }: Request,
    headers: Record<string, string>,
  ): Promise<Answer> => {
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

  const check = (
    what: Request,
    answer: Answer,
    when: When,
    requestId: string,
  ): string | undefined => {
    const wrong = oracle.check(answer, when);
    if (wrong) return wrong;
    if (answer.header('x-request-id') !== requestId) return 'another X-Request-Id';
    if (what.kind === 'other origin' && what.headers['Origin'] === ORIGIN && answer.status < 500)
      if (answer.header('access-control-allow-origin') !== ORIGIN)
        return 'no Access-Control-Allow-Origin';
    const lacksList =
      answer.status >= 502 && answer.status <= 504 && what.path.startsWith('/banks');
    const isRefused = answer.status === 503 && oracle.isFlooded(when);
    if (!what.statuses.includes(answer.status) && !lacksList && !isRefused)
      return `status ${answer.status}`;
    const isConfirmed = what.headers['If-None-Match']?.includes(answer.header('etag') ?? '-');
    if (
      what.kind === 'revalidation' &&
      isConfirmed !== (answer.status === 304) &&
      answer.status < 500
    )
      return `${answer.status} for ${what.headers['If-None-Match']}`;
    return undefined;
  };

  const send = async (repeats: number, what = choose()): Promise<void> => {
    sent += 1;
    const requestId = `soak-${sent}`;
    const ip = random() < 0.9 ? `203.0.${byte()}.${byte()}` : `2001:db8::${byte().toString(16)}:1`;
    const headers = {
      Host: 'banks.example',
      'X-Forwarded-For': random() < 0.2 ? `198.51.100.${byte()}, ${ip}` : ip,
      'X-Forwarded-Proto': 'https',
      'X-Request-Id': requestId,
      ...what.headers,
    };
    const sentMs = performance.now();
    try {
      const answer = await exchange(what, headers);
      const when = { sentMs, receivedMs: performance.now() };
      findings.count(what.kind, answer.status);
      if (answer.status === 200)
        latenciesMs[answered++ % REMEMBERED_LATENCIES] = when.receivedMs - sentMs;
      const wrong = check(what, answer, when, requestId);
      if (wrong)
        findings.fail(
          what.kind,
          wrong,
          JSON.stringify({
            ...what,
            status: answer.status,
            body: answer.body.toString().slice(0, 300),
          }),
        );
    } catch (error) {
      const when = { sentMs, receivedMs: performance.now() };
      // To make room, idle connections are closed, also new ones that have not been read yet; a
      // load balancer repeats what was lost with them.
      if (oracle.isFlooded(when) && repeats < MAX_REPEATS) {
        findings.count(what.kind, 'lost in a flood, repeated');
        await pause(200);
        await send(repeats + 1, what);
      } else {
        findings.count(what.kind, 'no response');
        findings.fail(what.kind, `no response: ${String(error)}`, JSON.stringify(what));
      }
    }
  };

  return {
    /** Sends one request, and checks its response. Never rejects. */
    send: (): Promise<void> => send(0),
    /** Closes the connections; later requests make new ones. */
    close: async (): Promise<void> => {
      await pool.destroy();
      pool = newPool();
    },
    latenciesMs,
    /** How many answers had a list. */
    answered: () => answered,
  };
};
