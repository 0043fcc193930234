import type { IncomingMessage, ServerResponse } from 'node:http';

// What node:http has of one connection: what it was fed, and what it owes.

/** What node:http does with the bytes of a connection, and with their end. */
export interface NodeReader {
  readonly onData: (piece: Buffer) => void;
  readonly onEnd: () => void;
}

export interface NodeSide {
  feed(reader: NodeReader, piece: Buffer): void;
  /** To be called with each request that node:http emits for the connection. `onClosed` is called after its answer. */
  onRequest(req: IncomingMessage, res: ServerResponse, onClosed: () => void): void;
  /** Answers that have begun, or that somebody still has to give. */
  owed(): number;
  /** Whether a request has begun that has not all come. */
  isReceiving(): boolean;
  /** Requests so far. */
  requests(): number;
}

export const createNodeSide = (): NodeSide => {
  let owed = 0;
  let requests = 0;
  /** The newest request, while its content has not all come. */
  let unfinished: IncomingMessage | undefined;
  /** The parser has a part of a head. */
  let isPartial = false;

  return {
    feed: (reader, piece) => {
      const before = requests;
      reader.onData(piece);
      const isContentWhole = unfinished?.complete === true;
      if (isContentWhole) unfinished = undefined;
      isPartial = requests === before && !isContentWhole;
    },
    onRequest: (req, res, onClosed) => {
      requests += 1;
      owed += 1;
      unfinished = req;
      res.once('close', () => {
        owed -= 1;
        onClosed();
      });
    },
    owed: () => owed,
    isReceiving: () => isPartial || unfinished !== undefined,
    requests: () => requests,
  };
};
