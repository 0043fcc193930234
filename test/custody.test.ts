import { afterEach, expect, test } from '@jest/globals';
import { createServer, type TLSSocket } from 'node:tls';
import { startEmulator, type Emulator } from '../emulator/emulator.ts';
import type { Environment } from '../src/config/reader.ts';
import { createAuthority } from './kit/authority.ts';
import { startProcess, type ServiceProcess } from './kit/process.ts';
import { eventually } from './kit/rig.ts';
import { startTlsFront, type TlsFront } from './kit/tls-front.ts';
import { listenOn } from './kit/free-port.ts';
import { createTunnels } from './kit/tunnel.ts';

// The token's custody, where only the built process can show it: what Node itself reads from the environment, and what is
// left there.

const TOKEN = 'token-of-the-custody-test';
const trusted = createAuthority('trusted');
const client = trusted.issue('the service');
const [good, bad] = [trusted.issue('localhost'), createAuthority('unknown').issue('localhost')];

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

let emulator: Emulator;
let front: TlsFront;

const startProvider = async (pair = good): Promise<void> => {
  emulator = await startEmulator({ accessTokens: [TOKEN] });
  front = await startTlsFront({ to: emulator.baseUrl, pair });
  closers.push(
    () => emulator.close(),
    () => front.close(),
  );
};

/** A proxy that speaks TLS and asks for a client certificate. @returns its address, and whose certificates it got */
const startTlsProxy = async (pair = good): Promise<{ url: string; clients: string[] }> => {
  const clients: string[] = [];
  const proxy = createTunnels({ to: () => front.port });
  const { cert, key } = pair;
  const outer = createServer(
    { cert, key, ca: trusted.cert, requestCert: true, rejectUnauthorized: false },
    (socket: TLSSocket) => {
      clients.push(String(socket.getPeerCertificate().subject?.CN ?? 'none'));
      socket.on('error', () => undefined);
      proxy.emit('connection', socket);
    },
  );
  closers.push(() => outer.close());
  return { url: `https://localhost:${await listenOn(outer)}`, clients };
};

const start = async (env: Environment, preload?: string): Promise<ServiceProcess> => {
  const running = await startProcess(
    {
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: front.url,
      PROVIDER_ACCESS_TOKEN: TOKEN,
      PROVIDER_TLS_CA_FILE: trusted.certFile,
      NODE_EXTRA_CA_CERTS: trusted.certFile,
      ...env,
    },
    preload,
  );
  closers.push(() => running.end('SIGKILL'));
  return running;
};

test.each([
  ['of the provider', bad, undefined],
  ['of the provider behind a proxy', bad, good],
  ['of the proxy', good, bad],
])(
  'a certificate %s is checked, also with NODE_TLS_REJECT_UNAUTHORIZED=0',
  async (_whose, ofProvider, ofProxy) => {
    await startProvider(ofProvider);
    const proxy = ofProxy && (await startTlsProxy(ofProxy));
    const running = await start({
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      ...(proxy && { HTTPS_PROXY: proxy.url }),
    });
    await eventually(() => /loads are failing|load failed|unreachable/.test(running.written()));
    expect(emulator.listCalls()).toBe(0);
  },
);

test('the client certificate is shown to the provider, and not to a proxy', async () => {
  await startProvider();
  front.requireClientOf(trusted.cert);
  const proxy = await startTlsProxy();
  await start({
    HTTPS_PROXY: proxy.url,
    PROVIDER_TLS_CERT_FILE: client.certFile,
    PROVIDER_TLS_KEY_FILE: client.keyFile,
  });
  await eventually(() => emulator.calls[0]?.status === 200);
  expect(proxy.clients).toEqual(['none']);
});

test.each(['https_proxy', 'HTTPS_PROXY'])(
  'after the start no secret is in the environment: %s',
  async (name) => {
    await startProvider();
    const running = await start(
      { [name]: 'http://user:password-of-the-proxy@127.0.0.1:9', MANAGEMENT_TOKEN: 'token-of-operators-1' },
      `process.on('SIGUSR2', () => console.log('seen', Object.entries(process.env).join(), 'to the end'));`,
    );
    running.child.kill('SIGUSR2');
    await eventually(() => running.written().includes('to the end'));
    const [, seen = ''] = /seen (.*) to the end/s.exec(running.written()) ?? [];
    expect(seen).toContain('PROVIDER_SANDBOX_BASE_URL');
    for (const secret of [TOKEN, 'password-of-the-proxy', 'token-of-operators-1'])
      expect(seen).not.toContain(secret);
  },
);
