import type { Server } from 'node:net';
import type { Clock } from '../../clock.ts';
import { phaseOf, type Connection, type Phase } from './connection.ts';

// Shuts down a server without losing a request.

export interface DrainOptions {
  /** How long new requests are still accepted, so that load balancers can see the 503 of /readyz first. */
  readonly noticeMs: number;
  /** After this time, counted from the start, all open connections are closed. */
  readonly graceMs: number;
}

/**
 * Closes `server` without losing a request. It continues to serve for `noticeMs`: closing at once could close an idle
 * keep-alive connection just when its client reuses it. Meanwhile every response says `Connection: close`, so that clients
 * close their connections.
 */
export const drain = async (
  server: Server,
  connections: Iterable<Connection>,
  clock: Clock,
  { noticeMs, graceMs }: DrainOptions,
): Promise<void> => {
  const destroyAll = (...phases: readonly Phase[]): void => {
    for (const connection of connections)
      if (phases.length === 0 || phases.includes(phaseOf(connection))) connection.socket.destroy();
  };
  const cancelCutOff = clock.after(graceMs, () => destroyAll());
  await new Promise<void>((resolve) => void clock.after(noticeMs, resolve));
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  // A request that is arriving gets a little more time.
  const cancelHurry = clock.after(HALF_SENT_MS, () => destroyAll('receiving'));
  // The response to a request from before the drain does not say Connection: close, and leaves an idle connection.
  destroyAll('idle');
  const sweep = setInterval(() => destroyAll('idle'), IDLE_SWEEP_MS);
  await closed;
  clearInterval(sweep);
  cancelHurry();
  cancelCutOff();
};

const HALF_SENT_MS = 1_000;
const IDLE_SWEEP_MS = 100;
