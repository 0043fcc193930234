import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pair } from './authority.ts';
import { onFreePort } from './free-port.ts';
import { runProgram } from './program.ts';

// HAProxy as a server that requires client certificates and refuses a handshake by an alert, as the servers of real
// providers do. Node's server only hangs up.

export interface AlertingServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface AlertingServerOptions {
  readonly pair: Pair;
  /** Client certificates of this authority get a 204, which is no list. */
  readonly clientAuthorityFile: string;
  readonly newestVersion: 'TLSv1.2' | 'TLSv1.3';
}

/** Its path: a program of a test's own has no PATH. */
const HAPROXY = spawnSync('sh', ['-c', 'command -v haproxy'], { encoding: 'utf8' }).stdout.trim();

export const startAlertingServer = ({
  pair,
  clientAuthorityFile,
  newestVersion,
}: AlertingServerOptions): Promise<AlertingServer> =>
  onFreePort(async (port) => {
    const folder = mkdtempSync(join(tmpdir(), 'banks-alerts-'));
    const [config, both] = [join(folder, 'haproxy.cfg'), join(folder, 'both.pem')];
    writeFileSync(both, pair.cert + pair.key);
    const bind = `bind 127.0.0.1:${port} ssl crt ${both} ca-file ${clientAuthorityFile} verify required`;
    writeFileSync(
      config,
      `defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 10s
frontend provider
  ${bind} ssl-max-ver ${newestVersion}
  http-request return status 204
`,
    );
    const { child, exit, says } = runProgram(HAPROXY, { args: ['-d', '-db', '-f', config] });
    await says(/Using \w+\(\) as the polling mechanism/);
    return {
      url: `https://localhost:${port}`,
      close: async () => {
        child.kill();
        await exit;
      },
    };
  });
