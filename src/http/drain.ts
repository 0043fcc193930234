import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';

// The end of a listener that loses no request.

export interface DrainOptions {
  /** How long new requests are still taken, so that load balancers can see the 503 of /readyz first. */
  readonly noticeMs: number;
  /** When whatever is still open is cut off, counted from the beginning. */
  readonly graceMs: number;
}

export interface Draining {
  readonly server: Server;
  readonly open: ReadonlySet<Socket>;
  /** Those on which the hot path answers: idle, but for an answer that is not yet taken. */
  readonly hot: ReadonlySet<Socket>;
  /** Those that Node reads, and that have sent no whole request yet. */
  readonly silent: ReadonlySet<Socket>;
  readonly clock: Clock;
}

/**
 * Closes `server` without losing a request. It first goes on serving for `noticeMs`: closing at once would cut an
 * idle keep-alive connection in the moment in which its client reuses it, and the application marks every answer
 * of this time with `Connection: close`, which empties the connections from the safe side.
 */
export const drain = async (
  { server, open, hot, silent, clock }: Draining,
  { noticeMs, graceMs }: DrainOptions,
): Promise<void> => {
  const cancelCutOff = clock.after(graceMs, () => open.forEach((socket) => socket.destroy()));
  await new Promise<void>((resolve) => void clock.after(noticeMs, resolve));
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  // Node waits for a connection that never sent a request as for one with a request under way. Who has begun to send
  // one gets a moment more.
  for (const socket of silent) if (socket.bytesRead === 0) socket.destroy();
  const cancelHurry = clock.after(HALF_SENT_MS, () => silent.forEach((socket) => socket.destroy()));
  // A request that came before the drain has no Connection: close in its answer, and leaves an idle connection.
  const closeIdle = (): void => {
    server.closeIdleConnections();
    for (const socket of hot) if (socket.writableLength === 0) socket.destroy();
  };
  closeIdle();
  const sweep = setInterval(closeIdle, IDLE_SWEEP_MS);
  await closed;
  clearInterval(sweep);
  cancelHurry();
  cancelCutOff();
};

const HALF_SENT_MS = 1_000;
const IDLE_SWEEP_MS = 100;
