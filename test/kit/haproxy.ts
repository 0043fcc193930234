import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './free-port.ts';
import { needProgram } from './needs.ts';

// The real HAProxy with the shipped configuration, in which only addresses are replaced, and a name server in place of
// Docker's.

const SHIPPED_CONFIG = 'deploy/haproxy/haproxy.cfg';

/** `describe` for tests that need HAProxy. */
export const { describeWithIt: describeWithHaproxy } = needProgram(
  ['haproxy'],
  'On Debian: apt-get install haproxy',
);

export interface Haproxy {
  readonly url: string;
  readonly port: number;
  /** Everything that it has logged so far. */
  log(): string;
  close(): Promise<void>;
}

/**
 * Starts HAProxy in front of the replicas at `addresses` (IPv4), all of which listen on `port`.
 * @param changes to the shipped configuration: what it has, and what takes its place
 */
export const startHaproxy = async (
  addresses: readonly string[],
  port: number,
  changes: readonly (readonly [string, string])[] = [],
): Promise<Haproxy> => {
  const names = await startNameServer(addresses);
  const ownPort = await findFreePort();
  const config = replaceAddresses(readFileSync(SHIPPED_CONFIG, 'utf8'), [
    ['bind :8080', `bind 127.0.0.1:${ownPort}`],
    ['nameserver dns 127.0.0.11:53', `nameserver dns 127.0.0.1:${names.port}`],
    ['banks-bff:3000', `banks-bff:${port}`],
    ...changes,
  ]);
  const folder = mkdtempSync(join(tmpdir(), 'banks-haproxy-'));
  writeFileSync(join(folder, 'haproxy.cfg'), config);
  const child = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const exit = once(child, 'exit');
  const log = (): string => Buffer.concat(chunks).toString();
  const isUp = async (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${ownPort}/healthz`).then(
      () => true,
      () => false,
    );
  while (!(await isUp())) if (child.exitCode !== null) throw new Error(`HAProxy did not start: ${log()}`);
  return {
    url: `http://127.0.0.1:${ownPort}`,
    port: ownPort,
    log,
    close: async () => {
      child.kill('SIGTERM');
      await exit;
      names.close();
      rmSync(folder, { recursive: true });
    },
  };
};

const replaceAddresses = (config: string, pairs: readonly (readonly [string, string])[]): string =>
  pairs.reduce((text, [shipped, own]) => {
    if (!text.includes(shipped)) throw new Error(`${SHIPPED_CONFIG} no longer has "${shipped}"`);
    return text.replaceAll(shipped, own);
  }, config);

const TYPE_A = 1;
const HEADER_BYTES = 12;

/** A name server that knows one name: `addresses` for every question of type A, nothing for others (RFC 1035). */
const startNameServer = async (
  addresses: readonly string[],
): Promise<{ readonly port: number; close(): void }> => {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const questionEnd = query.indexOf(0, HEADER_BYTES) + 5;
    const isTypeA = query.readUInt16BE(questionEnd - 4) === TYPE_A;
    const records = (isTypeA ? addresses : []).map((ip) =>
      // A pointer to the question's name, type A, class IN, 1 s to live, and four bytes of address.
      Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 1, 0, 4, ...ip.split('.').map(Number)]),
    );
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, records.length, 0, 0, 0, 0]);
    socket.send(
      Buffer.concat([header, query.subarray(HEADER_BYTES, questionEnd), ...records]),
      port,
      address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { port: socket.address().port, close: () => void socket.close() };
};
