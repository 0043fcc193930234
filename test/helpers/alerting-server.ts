import type { Pair } from './authority.ts';
import { onFreePort } from './free-port.ts';
import { runHaproxy } from './haproxy.ts';

// HAProxy as a server that requires client certificates and refuses a handshake by an alert, as the
// servers of real providers do. Node's server only hangs up.

export interface AlertingServerOptions {
  readonly pair: Pair;
  /** Client certificates of this authority get a 204, which is no list. */
  readonly clientAuthorityFile: string;
  readonly newestVersion: 'TLSv1.2' | 'TLSv1.3';
}

export const startAlertingServer = ({
  pair,
  clientAuthorityFile,
  newestVersion,
}: AlertingServerOptions) =>
  onFreePort(async (port) => {
    const { listens, close } = runHaproxy((write) => {
      const certificate = `crt ${write('both.pem', pair.cert + pair.key)}`;
      const client = `ca-file ${clientAuthorityFile} verify required`;
      return `defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 10s
frontend provider
  bind 127.0.0.1:${port} ssl ${certificate} ${client} ssl-max-ver ${newestVersion}
  http-request return status 204
`;
    });
    await listens(port);
    return { url: `https://localhost:${port}`, close };
  });
