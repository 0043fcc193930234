import type { Server } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { Phase } from '../connection/connection.ts';
import type { Connections } from './connections.ts';

// The end of a listener that loses no request.

export interface DrainOptions {
  /** How long new requests are still taken, so that load balancers can see the 503 of /readyz first. */
  readonly noticeMs: number;
  /** When whatever is still open is cut off, counted from the beginning. */
  readonly graceMs: number;
}

export interface Draining {
  readonly server: Server;
  readonly connections: Connections;
  readonly clock: Clock;
}

/**
 * Closes `server` without losing a request. It first goes on serving for `noticeMs`: closing at once would cut an
 * idle keep-alive connection in the moment in which its client reuses it, and the application marks every answer
 * of this time with `Connection: close`, which empties the connections from the safe side.
 */
export const drain = async (
  { server, connections, clock }: Draining,
  { noticeMs, graceMs }: DrainOptions,
): Promise<void> => {
  const destroyAll = (...phases: Phase[]): void => {
    for (const [socket, { connection }] of connections)
      if (phases.includes(connection.phase())) socket.destroy();
  };
  const cancelCutOff = clock.after(graceMs, () => destroyAll('idle', 'receiving', 'answering'));
  await new Promise<void>((resolve) => void clock.after(noticeMs, resolve));
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  // A request that has begun to arrive gets a moment more.
  const cancelHurry = clock.after(HALF_SENT_MS, () => destroyAll('receiving'));
  // A request that came before the drain has no Connection: close in its answer, and leaves an idle connection.
  destroyAll('idle');
  const sweep = setInterval(() => destroyAll('idle'), IDLE_SWEEP_MS);
  await closed;
  clearInterval(sweep);
  cancelHurry();
  cancelCutOff();
};

const HALF_SENT_MS = 1_000;
const IDLE_SWEEP_MS = 100;
