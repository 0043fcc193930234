import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Findings } from './findings.ts';
import type { Answer, Judge } from './judge.ts';
import type { Replica } from './replica.ts';

// What clients send: ordinary requests at a constant rate, and beside them slow clients, which must
// not slow the others.

const REQUESTS_PER_SECOND = 150;
const SLOW_CLIENTS_OF_A_KIND = 4;

interface Request {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS';
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly expected: readonly number[];
}

/** @returns what stops them and closes their connections */
export const startClients = (
  replicas: readonly Replica[],
  judge: Judge,
  findings: Findings,
  random: () => number,
): (() => Promise<void>) => {
  const agent = new Agent({ connections: 32 });
  const ended = new AbortController();
  const pick = <T>(items: readonly T[], fallback: T): T =>
    items[Math.floor(random() * items.length)] ?? fallback;

  const choose = (): Request => {
    const headers = {
      'Accept-Encoding': pick(['gzip, deflate, br, zstd', 'gzip', 'br;q=0, *', ';;;'], ''),
    };
    const banks = { method: 'GET', path: '/banks', headers, expected: [200] } as const;
    const kind = random();
    if (kind < 0.6) return banks;
    if (kind < 0.85) {
      const revalidation = { ...headers, 'If-None-Match': pick(judge.etags(), '"none"') };
      return { ...banks, headers: revalidation, expected: [200, 304] };
    }
    if (kind < 0.9) return { ...banks, method: 'HEAD' };
    if (kind < 0.92) return { ...banks, method: 'OPTIONS', expected: [204] };
    if (kind < 0.94) return { ...banks, path: '/wp-login.php', expected: [404] };
    return { ...banks, path: pick(['/healthz', '/readyz', '/openapi.json'], '/healthz') };
  };

  const send = async (replica: Replica): Promise<void> => {
    const { method, path, headers, expected } = choose();
    const isStruck = replica.name === 'struck';
    const sentMs = performance.now();
    try {
      const response = await request(replica.url + path, { method, headers, dispatcher: agent });
      const body = Buffer.from(await response.body.arrayBuffer());
      const { statusCode: status } = response;
      const times = { sentMs, receivedMs: performance.now() };
      const answer: Answer = { isStruck, path, status, body, headers: response.headers, ...times };
      findings.count(`${method} ${path}: ${status}`);
      const isReadyz = path === '/readyz' && status === 503 && judge.mayLackList(answer);
      const isAllowed =
        expected.includes(status) || isReadyz || (path === '/banks' && status >= 502);
      const problem = (isAllowed ? undefined : 'another status') ?? judge.judge(answer);
      if (problem)
        findings.violate(
          problem,
          `(${replica.name}, ${method} ${path}: ${status}) ${body.toString().slice(0, 200)} ` +
            JSON.stringify(response.headers),
        );
    } catch (error) {
      if (judge.mayBeLost({ isStruck, sentMs })) findings.count('lost with a replica');
      else findings.violate('no answer', `(${replica.name}, ${method} ${path}) ${String(error)}`);
    }
  };

  /** Stays for up to 30 s, if the service does not end the connection before, and reads nothing. */
  const beSlow = async (replica: Replica, bytes: string, more = ''): Promise<void> => {
    while (!ended.signal.aborted) {
      const socket = connect(Number(new URL(replica.url).port), '127.0.0.1');
      const closed = new AbortController();
      socket.on('error', () => undefined).once('close', () => closed.abort());
      socket.write(bytes);
      const writing = setInterval(() => socket.write(more), 700);
      const signal = AbortSignal.any([ended.signal, closed.signal]);
      await wait(random() * 30_000, undefined, { signal }).catch(() => undefined);
      clearInterval(writing);
      socket.destroy();
      await wait(200);
    }
  };

  const GET = 'GET /banks HTTP/1.1\r\nHost: a\r\n';
  const slow = replicas.flatMap((replica) =>
    Array.from({ length: SLOW_CLIENTS_OF_A_KIND }, () => [
      beSlow(replica, `${GET}X-Slow: `, 'x'),
      beSlow(replica, `${GET}\r\n`.repeat(500)),
    ]).flat(),
  );
  const underWay = new Set<Promise<void>>();
  let owed = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    // After a standstill of this process there is no burst.
    owed = Math.min(20, owed + ((nowMs - lastMs) / 1_000) * REQUESTS_PER_SECOND);
    lastMs = nowMs;
    for (; owed >= 1; owed -= 1) {
      const [replica] = random() < 0.5 ? replicas : replicas.toReversed();
      if (!replica) return;
      const sending = send(replica).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  }, 10);

  return async () => {
    clearInterval(timer);
    ended.abort();
    await Promise.all([...underWay, ...slow]);
    await agent.close();
  };
};
