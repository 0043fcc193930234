import type { Pair } from './authority.ts';
import { closeLater } from './close-later.ts';
import { findFreePort, onFreePort } from './free-port.ts';
import { needProgram } from './needs.ts';
import { runProgram, SYSTEM_PATH } from './program.ts';
import { read } from './repository.ts';
import { temporaryFile } from './temporary-folder.ts';

// The real HAProxy, above all with the shipped configuration, in which only addresses are replaced.
// It is stopped after the test.

/** `describe` for tests that need HAProxy. */
export const { describeWithIt: describeWithHaproxy } = needProgram(
  ['haproxy'],
  'On Debian: apt-get install haproxy',
);

/** Runs it with this configuration, in which it listens on `port`. */
const run = async (port: number, config: string) => {
  const args = ['-db', '-f', temporaryFile(config)];
  const { end, listens } = runProgram('haproxy', { args, env: { PATH: SYSTEM_PATH } });
  closeLater(() => end('SIGTERM'));
  await listens(port);
};

/** Starts HAProxy in front of the replicas at `addresses` (IPv4), all of which listen on `port`. */
export const startHaproxy = async (addresses: readonly string[], port: number) => {
  const ownPort = await findFreePort();
  const servers = (checks: string): string =>
    addresses.map((it, index) => `  server replica${index} ${it}:${port} ${checks}`).join('\n');
  const config = read('deploy/haproxy/haproxy.cfg')
    .replace('bind :8080', `bind 127.0.0.1:${ownPort}`)
    .replaceAll(/^ *server-template \S+ 3 \S+ (.*) resolvers .*$/gm, (_line, checks: string) =>
      servers(checks),
    );
  await run(ownPort, config);
  return { url: `http://127.0.0.1:${ownPort}`, port: ownPort };
};

export interface AlertingServerOptions {
  readonly pair: Pair;
  /** Client certificates of this authority get a 204, which is no list. */
  readonly clientAuthorityFile: string;
  readonly newestVersion: 'TLSv1.2' | 'TLSv1.3';
}

/**
 * A server that requires client certificates and refuses a handshake by an alert, as the servers of
 * real providers do. Node's server only hangs up.
 */
export const startAlertingServer = (options: AlertingServerOptions) =>
  onFreePort(async (port) => {
    const { pair, clientAuthorityFile, newestVersion } = options;
    const file = temporaryFile(pair.cert + pair.key);
    const client = `ca-file ${clientAuthorityFile} verify required`;
    await run(
      port,
      `defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 10s
frontend provider
  bind 127.0.0.1:${port} ssl crt ${file} ${client} ssl-max-ver ${newestVersion}
  http-request return status 204
`,
    );
    return { url: `https://localhost:${port}` };
  });
