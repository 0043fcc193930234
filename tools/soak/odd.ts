import { connect, type Socket } from 'node:net';
import { sendRaw, type RawAnswer } from '../../test/helpers/raw-http.ts';
import { ANSWERED, REFUSED } from '../../test/helpers/raw-requests.ts';
import { pause, type Gate } from './gate.ts';
import type { Answer } from './oracle.ts';
import type { Soak } from './soak.ts';

// Requests as bytes, odd and hostile, and clients that are slow, go away or are too many.

/** How late an answer may be is checked by the oracle. */
const ANSWERS_WITHIN_MS = 30_000;
const GET = 'GET /banks HTTP/1.1\r\nHost: a\r\n';
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: a\r\n';

/** Sends one of the requests and checks the responses. Never rejects. */
export const createOddRequests = ({
  publicUrl,
  managementToken: secret,
  oracle,
  findings,
}: Soak) => {
  let count = 0;
  const withSecret = [
    `GET /a/${encodeURIComponent(secret)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    `GET /a HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${secret}\r\nReferer: https://a/${secret}\r\n\r\n`,
  ].map((bytes) => ['a secret of the service', bytes, [404]] as const);
  const requests = [...ANSWERED, ...REFUSED, ...withSecret];

  return async (): Promise<void> => {
    count += 1;
    const [name, bytes, statuses] = requests[count % requests.length] ?? ['', '', []];
    const fail = (problem: string): void =>
      findings.fail('odd or hostile', `${name}: ${problem}`, bytes.slice(0, 200));
    const sentMs = performance.now();
    try {
      const answers = await sendRaw(publicUrl, bytes, { withinMs: ANSWERS_WITHIN_MS });
      const when = { sentMs, receivedMs: performance.now() };
      for (const raw of answers) {
        findings.count('odd or hostile', raw.status);
        const wrong = oracle.check(toAnswer(raw), when);
        if (wrong) fail(wrong);
      }
      const isAsExpected = statuses.every((expected, index) => {
        const status = answers[index]?.status ?? 0;
        const lacksList =
          expected === 200 && status >= 502 && status <= 504 && oracle.mayLackList(when);
        return status === expected || lacksList;
      });
      if (!(isAsExpected && answers.length === statuses.length) && !oracle.isFlooded(when))
        fail(
          `${answers.map(({ status }) => status).join() || 'no response'} instead of ${statuses.join()}`,
        );
    } catch (error) {
      fail(String(error));
    }
  };
};

const toAnswer = ({ status, headers, body }: RawAnswer): Answer => ({
  status,
  header: (name) => headers.get(name),
  body: Buffer.from(body, 'latin1'),
});

const open = (url: string): Socket =>
  connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);

/** The service must close the connection, though the client goes on sending `slowly`, if that is given. */
const RUDE_CLIENTS: readonly (readonly [kind: string, bytes: string, slowly?: string])[] = [
  ['slow head', `${GET}X-Slow: `, 'x'],
  ['says nothing', ''],
  ['idle after a response', `${GET}\r\n`],
  // More than the system's buffers of both sides take.
  ['reads nothing', `${GET}\r\n`.repeat(1_000)],
];
/** Longer than any limit for clients (docs/limits.md). */
const CLOSED_WITHIN_MS = 75_000;
const OF_EACH_KIND = 3;

/** Clients that take their time or leave early, as long as the gate is open. */
export const startRudeClients = (gate: Gate, soak: Soak): void => {
  const { publicUrl, oracle, findings, lateness } = soak;
  const random = soak.randomFor(2);

  const beRude = async (
    signal: AbortSignal,
    kind: string,
    bytes: string,
    slowly = '',
  ): Promise<void> => {
    const closed = new AbortController();
    const socket = open(publicUrl).once('close', () => closed.abort());
    if (kind === 'reads nothing') socket.pause();
    else socket.resume();
    socket.write(bytes);
    const slow = setInterval(() => socket.write(slowly), 700);
    // A paused socket does not notice that it was reset; after the time allowed it reads what is left.
    const reading = setTimeout(() => socket.resume(), CLOSED_WITHIN_MS - 9_000);
    const sentMs = performance.now();
    await pause(CLOSED_WITHIN_MS + lateness.slackMs(), AbortSignal.any([signal, closed.signal]));
    const isClosed = socket.destroyed;
    clearInterval(slow);
    clearTimeout(reading);
    socket.destroy();
    if (signal.aborted || oracle.isFlooded({ sentMs, receivedMs: performance.now() })) return;
    findings.count(kind, isClosed ? 'closed' : 'left open');
    if (!isClosed) findings.fail(kind, 'left open');
  };
  /** Disconnects in the middle of a head, or before reading any of 20 answers. */
  const leaveEarly = async (signal: AbortSignal): Promise<void> => {
    const socket = open(publicUrl).pause();
    socket.write(
      random() < 0.5 ? `${GET}\r\n`.repeat(20) : GET.slice(0, 1 + Math.floor(random() * 30)),
    );
    await pause(random() * 50, signal);
    socket.resetAndDestroy();
    await pause(1_000 * random(), signal);
  };
  for (let left = OF_EACH_KIND; left > 0; left -= 1) {
    for (const client of RUDE_CLIENTS) gate.repeat((signal) => beRude(signal, ...client));
    gate.repeat(leaveEarly);
  }
};

/** More connections than the service takes, each with a request under way, and what probes and others get meanwhile. */
export const floodOverCapacity = async ({ publicUrl, oracle, findings }: Soak): Promise<void> => {
  const kind = 'flood of 2,150 connections';
  const endFlood = oracle.flood();
  const sockets: Socket[] = [];
  for (let count = 0; count < 2_150; count += 1) {
    const socket = open(publicUrl);
    socket.write(`${HEALTH}X-Slow: `);
    sockets.push(socket);
    // No faster than a busy machine accepts them: its queue is shared with the other clients.
    if (count % 20 === 19) await pause(20);
  }
  await pause(1_000);
  const statusOf = async (head: string): Promise<number | undefined> => {
    const request = sendRaw(publicUrl, `${head}Connection: close\r\n\r\n`, {
      withinMs: ANSWERS_WITHIN_MS,
    });
    return (await request.catch(() => []))[0]?.status;
  };
  for (let turn = 0; turn < 5; turn += 1) {
    const probed = await statusOf(HEALTH);
    findings.count(kind, `probe ${probed ?? 'lost'}`);
    if (probed !== 200) findings.fail(kind, `/healthz: ${probed ?? 'no answer'}`);
    findings.count(kind, (await statusOf(GET)) ?? 'lost');
  }
  for (const socket of sockets) socket.destroy();
  await pause(500);
  endFlood();
};
