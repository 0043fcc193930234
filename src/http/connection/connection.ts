import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createAnswering, type AnsweringOptions } from './answering.ts';
import { createReading, type ReadingOptions } from './reading.ts';

// One connection of a client: its reading (reading.ts) and who answers on it (answering.ts).

export interface ConnectionOptions extends AnsweringOptions, ReadingOptions {}

/** `idle`: between two requests. `receiving`: a request has begun. `answering`: the client waits, or does not read. */
export type Phase = 'idle' | 'receiving' | 'answering';

export interface Connection {
  phase(): Phase;
  /** When it was opened or brought its newest request, as a number from `nextUse`. */
  lastUse(): number;
  /** How many requests node:http has had from it. */
  requestsByNode(): number;
  /** To be called with each request that node:http emits for it. */
  onNodeRequest(req: IncomingMessage, res: ServerResponse): void;
  /** From now on nothing that it sends is a request. */
  stop(): void;
}

export const openConnection = (socket: Socket, options: ConnectionOptions): Connection => {
  const answering = createAnswering(socket, options);
  const reading = createReading(socket, answering, options);
  // The connection is closed by then, and what is to be done about it is done on 'close'.
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
