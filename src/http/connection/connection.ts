import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createAnswering, type AnsweringOptions } from './answering.ts';
import { createReading, type ReadingOptions } from './reading.ts';

// One connection of a client: its reading (reading.ts) and who answers on it (answering.ts).

export interface ConnectionOptions extends AnsweringOptions, ReadingOptions {}

/** `idle`: between two requests. `receiving`: in the middle of one. `answering`: the client waits, or does not read. */
export type Phase = 'idle' | 'receiving' | 'answering';

export interface Connection {
  phase(): Phase;
  /** When it was opened or got its latest request, as a number from `nextUse`. */
  lastUse(): number;
  /** The number of its requests that node:http got. */
  requestsByNode(): number;
  /** Call it with each request that node:http emits for it. */
  onNodeRequest(req: IncomingMessage, res: ServerResponse): void;
  /** Ignores all further input. */
  stop(): void;
}

export const openConnection = (socket: Socket, options: ConnectionOptions): Connection => {
  const answering = createAnswering(socket, options);
  const reading = createReading(socket, answering, options);
  // The connection is then closed, and 'close' does the rest.
  socket.on('error', () => undefined).once('close', reading.stop);
  answering.begin(reading);
  return {
    phase: () => {
      if (answering.isDue() || reading.hasRequestsWaiting()) return 'answering';
      return reading.isAwaitingEnd() || answering.isReceiving() ? 'receiving' : 'idle';
    },
    lastUse: () => answering.lastUse(),
    requestsByNode: () => answering.requests(),
    onNodeRequest: (req, res) => answering.onNodeRequest(req, res),
    stop: reading.stop,
  };
};
