import type { IncomingMessage, ServerResponse } from 'node:http';

// node:http's part of one connection: the bytes that it got, and the responses that it has to send.

/** What node:http does with the bytes of a connection, and with their end. */
export interface NodeReader {
  readonly onData: (piece: Buffer) => void;
  readonly onEnd: () => void;
}

export interface NodeSide {
  feed(reader: NodeReader, piece: Buffer): void;
  /** Call it with each request that node:http emits for the connection. `onClosed` is called after the response. */
  onRequest(req: IncomingMessage, res: ServerResponse, onClosed: () => void): void;
  /** Responses that are not complete yet. */
  owed(): number;
  /** Whether a request has arrived only in part. */
  isReceiving(): boolean;
  /** Requests so far. */
  requests(): number;
}

export const createNodeSide = (): NodeSide => {
  let owed = 0;
  let requests = 0;
  /** The newest request, while its body has not arrived completely. */
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
