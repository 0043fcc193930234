import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';

// A listener's life: bound, drained, closed.

/** Binds `server` and gives its address. Port 0 picks a free one. Rejects with Node's error, such as EADDRINUSE. */
export const listen = (server: Server, { port, host }: { port: number; host: string }): Promise<string> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(urlOf(server.address()));
    });
  });

const urlOf = (address: AddressInfo | string | null): string => {
  if (address === null || typeof address === 'string') throw new TypeError('the server listens on no port');
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
};

export interface DrainOptions {
  /** How long new requests are still taken, so that load balancers can see the 503 of /readyz first. */
  readonly noticeMs: number;
  /** When whatever is still open is cut off, counted from the beginning. */
  readonly graceMs: number;
}

/**
 * Closes `server` without losing a request. It first goes on serving for `noticeMs`: closing at once would cut an
 * idle keep-alive connection in the moment in which its client reuses it, and the application marks every answer
 * of this time with `Connection: close`, which empties the connections from the safe side.
 */
export const drain = async (
  server: Server,
  { noticeMs, graceMs }: DrainOptions,
  clock: Clock,
): Promise<void> => {
  const cutOff = clock.after(graceMs, () => server.closeAllConnections());
  await new Promise<void>((resolve) => void clock.after(noticeMs, resolve));
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  cutOff();
};
