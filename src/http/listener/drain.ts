import type { Server } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { Phase } from '../connection/connection.ts';
import type { Connections } from './connections.ts';

// Shuts down a listener without losing a request.

export interface DrainOptions {
  /** How long new requests are still accepted, so that load balancers can see the 503 of /readyz first. */
  readonly noticeMs: number;
  /** After this time, counted from the start, all open connections are closed. */
  readonly graceMs: number;
}

export interface Draining {
  readonly server: Server;
  readonly connections: Connections;
  readonly clock: Clock;
}

/**
 * Closes `server` without losing a request. It continues to serve for `noticeMs`: closing at once could close an idle
 * keep-alive connection just when its client reuses it. Meanwhile every response says `Connection: close`, so that clients
 * close their connections.
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
