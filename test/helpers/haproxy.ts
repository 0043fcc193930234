import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from './free-port.ts';
import { needProgram } from './needs.ts';
import { runProgram, SYSTEM_PATH } from './program.ts';
import { temporaryFolder } from './temporary-folder.ts';

// The real HAProxy, above all with the shipped configuration, in which only addresses are replaced,
// and a name server in place of Docker's.

const SHIPPED_CONFIG = 'deploy/haproxy/haproxy.cfg';

/** `describe` for tests that need HAProxy. */
export const { describeWithIt: describeWithHaproxy } = needProgram(
  ['haproxy'],
  'On Debian: apt-get install haproxy',
);

/**
 * Runs it with the configuration that `configure` returns, which may write files that the
 * configuration names.
 */
export const runHaproxy = (
  configure: (write: (name: string, text: string) => string) => string,
) => {
  const folder = temporaryFolder('banks-haproxy-');
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const args = ['-db', '-f', write('haproxy.cfg', configure(write))];
  const { end, output, listens } = runProgram('haproxy', { args, env: { PATH: SYSTEM_PATH } });
  return {
    listens,
    /** Everything that it has logged so far. */
    log: output,
    close: (): Promise<unknown> => end('SIGTERM'),
  };
};

/** Starts HAProxy in front of the replicas at `addresses` (IPv4), all of which listen on `port`. */
export const startHaproxy = async (addresses: readonly string[], port: number) => {
  const names = await startNameServer(addresses);
  const ownPort = await findFreePort();
  const replacements = [
    ['bind :8080', `bind 127.0.0.1:${ownPort}`],
    ['nameserver dns 127.0.0.11:53', `nameserver dns 127.0.0.1:${names.port}`],
    ['banks-bff:3000', `banks-bff:${port}`],
  ] as const;
  const { listens, log, close } = runHaproxy(() =>
    replacements.reduce(
      (config, [shipped, own]) => {
        if (!config.includes(shipped))
          throw new Error(`${SHIPPED_CONFIG} no longer has "${shipped}"`);
        return config.replaceAll(shipped, own);
      },
      readFileSync(SHIPPED_CONFIG, 'utf8'),
    ),
  );
  await listens(ownPort);
  return {
    url: `http://127.0.0.1:${ownPort}`,
    port: ownPort,
    log,
    close: async (): Promise<void> => {
      await close();
      names.close();
    },
  };
};

const TYPE_A = 1;
const HEADER_BYTES = 12;

/**
 * A name server that knows one name: `addresses` for every question of type A, nothing for others
 * (RFC 1035).
 */
const startNameServer = async (addresses: readonly string[]) => {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const questionEnd = query.indexOf(0, HEADER_BYTES) + 5;
    const isTypeA = query.readUInt16BE(questionEnd - 4) === TYPE_A;
    const records = (isTypeA ? addresses : []).map((ip) =>
      // A pointer to the question's name, type A, class IN, 1 s to live, and four bytes of address.
      Buffer.from([
        0xc0,
        HEADER_BYTES,
        0,
        TYPE_A,
        0,
        1,
        0,
        0,
        0,
        1,
        0,
        4,
        ...ip.split('.').map(Number),
      ]),
    );
    const header = Buffer.from([
      ...query.subarray(0, 2),
      0x81,
      0x80,
      0,
      1,
      0,
      records.length,
      0,
      0,
      0,
      0,
    ]);
    const question = query.subarray(HEADER_BYTES, questionEnd);
    socket.send(Buffer.concat([header, question, ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { port: socket.address().port, close: (): void => void socket.close() };
};
