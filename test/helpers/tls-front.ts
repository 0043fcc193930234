import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import type { Pair } from './authority.ts';
import { closeLater } from './close-later.ts';
import { listenOn } from './free-port.ts';

// TLS in front of an emulator: it ends the encryption, may require a client certificate, and passes
// the bytes on. It is closed after the test.

export type TlsFront = Awaited<ReturnType<typeof startTlsFront>>;

export interface TlsFrontOptions {
  /** Where the bytes go: an origin such as `http://127.0.0.1:4000`. */
  readonly to: string;
  readonly pair: Pair;
  /** PEM: clients must show a certificate of this authority. Unset: none is asked for. */
  readonly clientAuthority?: string;
  readonly host?: string;
}

export const startTlsFront = async (options: TlsFrontOptions) => {
  const { to, pair, clientAuthority } = options;
  const clients: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({
    cert: pair.cert,
    key: pair.key,
    ...(clientAuthority !== undefined && {
      ca: clientAuthority,
      requestCert: true,
      rejectUnauthorized: true,
    }),
  });
  // Also those whose handshake never ends, which close() would wait for.
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    const { subject } = socket.getPeerCertificate();
    clients.push(String(subject?.CN ?? 'none'));
    const upstream = connect(Number(new URL(to).port), new URL(to).hostname);
    for (const end of [socket, upstream]) {
      sockets.add(end);
      end.on('error', () => undefined).on('close', () => sockets.delete(end));
    }
    socket.pipe(upstream).pipe(socket);
    upstream.on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
  });
  const port = await listenOn(server, 0, options.host);
  closeLater(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return {
    port,
    url: `https://localhost:${port}`,
    /**
     * The common names of the clients' certificates, one for each connection; `none` for a client
     * without one.
     */
    clients: clients as readonly string[],
    /**
     * From the next connection on, only client certificates of this authority are accepted. A front
     * that was started without an authority asks for none.
     */
    requireClientOf: (authority: string): void => {
      if (clientAuthority === undefined) throw new Error('Start the front with a clientAuthority.');
      server.setSecureContext({ cert: pair.cert, key: pair.key, ca: authority });
    },
  };
};
