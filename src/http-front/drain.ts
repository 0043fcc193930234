import type { Server } from 'node:net';
import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import type { Connection } from './connection.ts';
import { activityOf, type Activity } from './activity.ts';

// Shuts a server down in an orderly way.

export interface DrainOptions {
  /**
   * How long new requests are still accepted, so that load balancers can see first that the service
   * is about to end.
   */
  readonly noticeMs: number;
  /** After this time, counted from the start, all open connections are closed. */
  readonly graceMs: number;
}

/** The clock of a drain. Tests use one that they set by hand. */
export interface DrainClock {
  /** Runs `task` once after `delayMs`, and returns a function that cancels it. */
  after(delayMs: number, task: () => void): () => void;
}

/**
 * Closes `server` without losing a request. It continues to serve for `noticeMs`: closing at once
 * could close an idle keep-alive connection just when its client reuses it. Meanwhile the
 * application sets `Connection: close` on every response, so that clients close their connections.
 * `pause(true)` keeps requests waiting, until `pause(false)`.
 */
export const drain = async (
  server: Server,
  connections: Iterable<Connection>,
  clock: DrainClock,
  pause: (isPaused: boolean) => void,
  { noticeMs, graceMs }: DrainOptions,
): Promise<void> => {
  const destroyAll = (): void => {
    for (const { socket } of connections) socket.destroy();
  };
  const destroyAllThatAre = (activity: Activity): void => {
    for (const connection of connections)
      if (activityOf(connection, ON_ITS_WAY_MS) === activity) connection.socket.destroy();
  };
  let isOver = false;
  const cancelCutOff = clock.after(graceMs, () => {
    isOver = true;
    destroyAll();
  });
  await new Promise<void>((resolve) => void clock.after(noticeMs, resolve));
  // While clients got responses they would reconnect, and the accept queue would never be empty.
  pause(true);
  await acceptWaiting(server);
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  // Connections may have been accepted since the grace period ended.
  if (isOver) destroyAll();
  pause(false);
  const cancelHurry = clock.after(ON_ITS_WAY_MS, () => destroyAllThatAre('receiving'));
  // The response to a request from before the drain does not say Connection: close, and leaves an
  // idle connection.
  destroyAllThatAre('idle');
  const sweep = setInterval(() => destroyAllThatAre('idle'), IDLE_SWEEP_MS);
  await closed;
  clearInterval(sweep);
  cancelHurry();
  cancelCutOff();
};

/**
 * Accepts the connections that the operating system has established already, and would reset when
 * the server closes. It ends because requests have to wait meanwhile: clients that get no response
 * open no further connection.
 */
const acceptWaiting = async (server: Server): Promise<void> => {
  let lastAcceptedMs = 0;
  server.on('connection', () => (lastAcceptedMs = performance.now()));
  for (let waits = 0; waits < MOST_WAITS; waits += 1) {
    const startedMs = performance.now();
    // oxlint-disable-next-line no-await-in-loop -- one wait after the other
    await wait(QUIET_MS);
    const turnStartedMs = performance.now();
    // oxlint-disable-next-line no-await-in-loop
    await setImmediate();
    // In a slow turn of the event loop, more may have come.
    const isQuick = performance.now() - turnStartedMs < QUICK_TURN_MS;
    if (isQuick && lastAcceptedMs < startedMs) return;
  }
};

/**
 * A wait of 10 turns of the event loop had 5 of 1,200 connections reset, on a machine with more to
 * do than it has cores.
 */
const QUIET_MS = 50;
const QUICK_TURN_MS = 1;
/** Requests wait for half a second at most. */
const MOST_WAITS = 10;
/**
 * How long a request, or the rest of one, may be on its way: TCP retransmits after a second (RFC
 * 6298 section 2.1).
 */
const ON_ITS_WAY_MS = 1_000;
const IDLE_SWEEP_MS = 100;
