import { connect, type Socket } from 'node:net';
import { mutate } from '../test/kit/random.ts';
import { sendRaw, type RawAnswer } from '../test/kit/raw-http.ts';
import { ANSWERED, PIECES_OF_REQUESTS, REFUSED } from '../test/kit/raw-requests.ts';
import type { Findings } from './findings.ts';
import { pause, type Gate } from './gate.ts';
import type { Lateness } from './lateness.ts';
import type { Answer, Oracle } from './oracle.ts';

// Requests as bytes, odd and hostile, and clients that are slow, go away or are too many.

export interface OddOptions {
  readonly publicUrl: string;
  readonly managementUrl: string;
  readonly secret: string;
  readonly random: () => number;
  readonly oracle: Oracle;
  readonly findings: Findings;
  readonly lateness: Lateness;
}

type Shape = readonly [name: string, bytes: string, statuses: readonly number[], splitAt?: number];

/** How late an answer may be is judged by the oracle. */
const ANSWERS_WITHIN_MS = 30_000;
const HOST = 'Host: a\r\n';
const LIST = `GET /banks HTTP/1.1\r\n${HOST}Accept-Encoding: gzip\r\n\r\n`;
/** Legal, and not what browsers send. */
const ODD: readonly Shape[] = [
  ['a head in two pieces', LIST, [200], 20],
  ['a head in two pieces, cut in CRLF', LIST, [200], LIST.length - 1],
  ['a request line in two pieces', LIST, [200], 3],
  ['Connection: close', `GET /banks HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`, [200]],
  ['HTTP/1.0, kept', `GET /banks HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\n`, [200]],
  ['eight pipelined requests', LIST.repeat(8), Array.from({ length: 8 }, () => 200)],
  ['pipelined requests in two packets', LIST.repeat(4), [200, 200, 200, 200], LIST.length * 2 + 9],
  ['no space after the colon', 'GET /banks HTTP/1.1\r\nHost:a\r\nAccept-Encoding:br\r\n\r\n', [200]],
  ['an empty line first', `\r\nGET /banks HTTP/1.1\r\n${HOST}\r\n`, [200]],
];
const SHAPES: readonly Shape[] = [...ODD, ...ANSWERED, ...REFUSED];
const refused = new Set(REFUSED.map(([name]) => name));

/** Sends one of the requests and judges the answers. Never rejects. */
export const createOddRequests = ({ random, oracle, findings, ...options }: OddOptions) => {
  let count = 0;
  const isMutable = ([, bytes]: Shape): boolean => bytes.length > 0 && bytes.length < 2_000;
  const originals = SHAPES.filter(isMutable);
  const { secret } = options;
  const withSecret: Shape[] = [
    `GET /${secret} HTTP/1.1\r\n${HOST}\r\n`,
    `GET /a/${encodeURIComponent(secret)} HTTP/1.1\r\n${HOST}\r\n`,
    `GET /a HTTP/1.1\r\n${HOST}X-Request-Id: ${secret}\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
    `GET /a HTTP/1.1\r\n${HOST}X-Forwarded-For: ${secret}\r\nReferer: https://a/${secret}\r\n\r\n`,
  ].map((bytes) => ['a secret of the service', bytes, [404]]);

  const judge = (kind: string, answers: readonly RawAnswer[], sentMs: number, bytes: string): void => {
    const when = { sentMs, receivedMs: performance.now() };
    for (const raw of answers) {
      const answer = toAnswer(raw);
      findings.count(kind, raw.status);
      const wrong = oracle.judge(answer, when);
      if (wrong)
        findings.fail(
          kind,
          wrong,
          JSON.stringify({ bytes: bytes.slice(0, 200), status: raw.status, body: raw.body.slice(0, 200) }),
        );
    }
  };
  const send = async ([name, bytes, statuses, splitAt]: Shape, kind: string): Promise<void> => {
    const sentMs = performance.now();
    const answers = await sendRaw(options.publicUrl, bytes, {
      withinMs: ANSWERS_WITHIN_MS,
      ...(splitAt !== undefined && { splitAt }),
    });
    judge(kind, answers, sentMs, bytes);
    const when = { sentMs, receivedMs: performance.now() };
    const asExpected = statuses.every((expected, index) => {
      const status = answers[index]?.status ?? 0;
      return (
        status === expected ||
        (expected === 200 && status >= 502 && status <= 504 && oracle.mayLackList(when))
      );
    });
    if (!(asExpected && answers.length === statuses.length) && !oracle.isFlooded(when))
      findings.fail(
        kind,
        `${name}: ${answers.map(({ status }) => status).join() || 'no answer'}`,
        statuses.join(),
      );
  };
  const sendMutated = async (): Promise<void> => {
    let bytes = originals[Math.floor(random() * originals.length)]?.[1] ?? '';
    for (let times = 1 + random() * 3; times > 0; times -= 1)
      bytes = mutate(bytes, random, PIECES_OF_REQUESTS);
    const isManagement = random() < 0.1;
    const url = isManagement ? options.managementUrl : options.publicUrl;
    const sentMs = performance.now();
    const methods = bytes.includes('HEAD') ? ['HEAD'] : [];
    const answers = await sendRaw(url, Buffer.from(bytes, 'latin1'), {
      methods,
      withinMs: ANSWERS_WITHIN_MS,
    });
    if (!isManagement) judge('mutated', answers, sentMs, bytes);
    for (const { status } of isManagement ? answers : []) {
      findings.count('mutated, management port', status);
      if (status === 500) findings.fail('mutated, management port', String(status), bytes);
    }
  };

  return async (): Promise<void> => {
    count += 1;
    const shape = SHAPES[count % SHAPES.length];
    const choice = random();
    try {
      if (choice < 0.35) await sendMutated();
      else if (choice < 0.4) await send(withSecret[count % withSecret.length] ?? ['', '', []], 'hostile');
      else if (shape) await send(shape, refused.has(shape[0]) ? 'hostile' : 'odd');
    } catch (error) {
      findings.count('odd or hostile', 'malformed or hanging');
      findings.fail('odd or hostile', String(error));
    }
  };
};

const toAnswer = ({ status, headers, body }: RawAnswer): Answer => ({
  status,
  header: (name) => headers.get(name),
  body: Buffer.from(body, 'latin1'),
});

interface Opened {
  readonly socket: Socket;
  readonly text: () => string;
  /** Resolves when it is closed, `ms` are over, or `signal` aborts; whether it is closed. */
  closed(ms: number, signal: AbortSignal): Promise<boolean>;
}

const open = (url: string, bytes: string, reads = true): Opened => {
  let text = '';
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  if (reads) socket.on('data', (chunk) => (text = (text + chunk.toString('latin1')).slice(0, 2_000)));
  else socket.pause();
  if (bytes) socket.write(bytes);
  return {
    socket,
    text: () => text,
    closed: async (ms, signal) => {
      const controller = new AbortController();
      const stop = (): void => controller.abort();
      socket.once('close', stop);
      signal.addEventListener('abort', stop, { once: true });
      if (!socket.destroyed) await pause(ms, controller.signal);
      signal.removeEventListener('abort', stop);
      return socket.destroyed;
    },
  };
};

/** Clients that take their time or leave early, as long as the gate is open. */
export const startRudeClients = (
  gate: Gate,
  { publicUrl, random, oracle, findings, lateness }: OddOptions,
): void => {
  /** The service must close the connection between these times, with this status or none. */
  const mustEnd = async (
    kind: string,
    opened: Opened,
    signal: AbortSignal,
    {
      fromMs,
      untilMs,
      status,
    }: { readonly fromMs: number; readonly untilMs: number; readonly status?: number },
  ): Promise<void> => {
    const sentMs = performance.now();
    const isClosed = await opened.closed(untilMs + lateness.slackMs(), signal);
    const receivedMs = performance.now();
    opened.socket.destroy();
    if (signal.aborted || oracle.isFlooded({ sentMs, receivedMs })) return;
    const answered = /^HTTP\/1\.1 (\d+)/.exec(opened.text())?.[1];
    findings.count(kind, isClosed ? (answered ?? 'closed') : 'left open');
    const tookMs = receivedMs - sentMs;
    if (!isClosed || tookMs < fromMs)
      findings.fail(kind, `${isClosed ? 'closed' : 'open'} after ${tookMs.toFixed(0)} ms`);
    if (status !== undefined && answered !== undefined && Number(answered) !== status)
      findings.fail(kind, `status ${answered}`);
  };

  const sendSlowly = async (signal: AbortSignal): Promise<void> => {
    const opened = open(publicUrl, `GET /banks HTTP/1.1\r\n${HOST}X-Slow: `);
    const timer = setInterval(() => opened.socket.write('x'), 700);
    await mustEnd('slow head', opened, signal, { fromMs: 9_000, untilMs: 16_000, status: 408 });
    clearInterval(timer);
  };
  const saySilent = (signal: AbortSignal): Promise<void> =>
    mustEnd('says nothing', open(publicUrl, ''), signal, { fromMs: 9_000, untilMs: 16_000, status: 408 });
  const stayIdle = (signal: AbortSignal): Promise<void> =>
    mustEnd('idle after an answer', open(publicUrl, LIST), signal, { fromMs: 60_000, untilMs: 75_000 });
  /** More than the system's buffers of both sides take. */
  const readNothing = (signal: AbortSignal): Promise<void> => {
    const opened = open(publicUrl, `GET /banks HTTP/1.1\r\n${HOST}\r\n`.repeat(1_000), false);
    // A paused socket does not notice that it was reset; after the time allowed it reads what is left.
    setTimeout(() => opened.socket.resume(), 66_000).unref();
    return mustEnd('reads nothing', opened, signal, { fromMs: 25_000, untilMs: 75_000 });
  };
  /** Disconnects in the middle of a head, or before reading any of 20 answers. */
  const leaveEarly = async (signal: AbortSignal): Promise<void> => {
    const { socket } = open(
      publicUrl,
      random() < 0.5 ? LIST.repeat(20) : LIST.slice(0, 1 + Math.floor(random() * 30)),
      false,
    );
    await pause(random() * 50, signal);
    socket.resetAndDestroy();
    findings.count('leaves early', 'reset by the client');
    await pause(1_000 * random(), signal);
  };
  for (const [client, times] of [
    [sendSlowly, 5],
    [saySilent, 3],
    [stayIdle, 3],
    [readNothing, 3],
    [leaveEarly, 3],
  ] as const)
    for (let left = times; left > 0; left -= 1) gate.repeat(client);
};

/** More connections than the service takes, each with a request under way, and what probes and others get meanwhile. */
export const floodOverCapacity = async ({
  publicUrl,
  random,
  oracle,
  findings,
}: OddOptions): Promise<void> => {
  const kind = 'flood of 2,150 connections';
  const endFlood = oracle.flood();
  const sockets: Socket[] = [];
  for (let count = 0; count < 2_150; count += 1) {
    sockets.push(open(publicUrl, `GET /healthz HTTP/1.1\r\n${HOST}X-Slow: `).socket);
    // No faster than a busy machine accepts them: its queue is shared with the other clients.
    if (count % 20 === 19) await pause(20);
  }
  await pause(1_000);
  for (let turn = 0; turn < 5; turn += 1) {
    const [answer] = await sendRaw(publicUrl, `GET /healthz HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`, {
      withinMs: ANSWERS_WITHIN_MS,
    }).catch(() => []);
    findings.count(kind, `probe ${answer?.status ?? 'lost'}`);
    if (answer?.status !== 200) findings.fail(kind, `/healthz: ${answer?.status ?? 'no answer'}`);
    const [other] = await sendRaw(publicUrl, `GET /banks HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`).catch(
      () => [],
    );
    findings.count(kind, other?.status ?? 'lost');
    await pause(300 * random());
  }
  for (const socket of sockets) socket.destroy();
  await pause(500);
  endFlood();
};
