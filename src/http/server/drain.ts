import type { Server } from 'node:net';
import { setImmediate } from 'node:timers/promises';
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
 * close their connections. `hold(true)` keeps requests waiting, until `hold(false)`.
 */
export const drain = async (
  server: Server,
  connections: Iterable<Connection>,
  clock: Clock,
  hold: (isHeld: boolean) => void,
  { noticeMs, graceMs }: DrainOptions,
): Promise<void> => {
  const destroyAll = (...phases: readonly Phase[]): void => {
    for (const connection of connections)
      if (phases.length === 0 || phases.includes(phaseOf(connection))) connection.socket.destroy();
  };
  const cancelCutOff = clock.after(graceMs, () => destroyAll());
  await new Promise<void>((resolve) => void clock.after(noticeMs, resolve));
  // Clients that got an answer now would connect again, and never leave a moment for closing the door.
  hold(true);
  await acceptWaiting(server);
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  hold(false);
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

/**
 * Accepts the connections that the operating system has established already, and would reset when the server closes. Node accepts
 * one in each turn of the event loop.
 */
const acceptWaiting = async (server: Server): Promise<void> => {
  let quietTurns = 0;
  const onConnection = (): void => void (quietTurns = 0);
  server.on('connection', onConnection);
  for (let turn = 0; turn < LONGEST_QUEUE && quietTurns < QUIET_TURNS; turn += 1) {
    quietTurns += 1;
    // oxlint-disable-next-line no-await-in-loop -- one turn after the other
    await setImmediate();
  }
  server.off('connection', onConnection);
};

/** Node's default of `backlog`. */
const LONGEST_QUEUE = 511;
const QUIET_TURNS = 10;
const HALF_SENT_MS = 1_000;
const IDLE_SWEEP_MS = 100;
