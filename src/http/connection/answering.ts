import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HotPath, Outcome } from '../hot/path.ts';
import type { Limits } from '../listener/limits.ts';
import { closeGracefully } from './closing.ts';
import { createNodeSide, type NodeReader, type NodeSide } from './node-side.ts';

// Answers on one connection: first with the hot path, and from the first request that is not ordinary, with node:http.

export interface AnsweringOptions {
  /** Answers ordinary requests; undefined: node:http gets them all. */
  readonly hotPath: HotPath | undefined;
  readonly limits: Pick<Limits, 'headersTimeoutMs' | 'keepAliveTimeoutMs'>;
  /** Hands the connection to node:http, except for reading, and returns node:http's listeners for bytes. */
  readonly giveToNode: () => NodeReader;
  /** Called if nothing has arrived within `headersTimeoutMs`; node:http has the connection by then. */
  readonly onSilence: () => void;
  /** A number that increases with each call, over all connections. */
  readonly nextUse: () => number;
}

/** What reads the connection, as `reading.ts` does. */
export interface Reader {
  readonly onData: (chunk: Buffer) => void;
  readonly onEnd: () => void;
  /** Whether it waits for the end of a head of which one read had only the beginning. */
  readonly isAwaitingEnd: () => boolean;
  readonly handleNext: () => void;
  /** Node:http has answered, or the system has taken what was written. */
  readonly onAnswered: () => void;
  readonly stop: () => void;
}

export interface Answering extends Pick<NodeSide, 'owed' | 'isReceiving' | 'requests'> {
  /** Call it once, before anything else. */
  begin(reader: Reader): void;
  /** Answers with the hot path, but always gives `other` after node:http got the connection. */
  answerHot(bytes: Buffer): Outcome;
  /** Gives `piece` to node:http, which keeps the connection from then on. */
  giveToNode(piece: Buffer): void;
  /** The client has closed its side and has all its responses. */
  end(): void;
  /** Whether the client waits for a response, or has not read one yet. */
  isDue(): boolean;
  /** How long the connection may be silent while the hot path has it. */
  setTimeoutMs(ms: number): void;
  onNodeRequest(req: IncomingMessage, res: ServerResponse): void;
  lastUse(): number;
}

export const createAnswering = (socket: Socket, options: AnsweringOptions): Answering => {
  const { limits, nextUse } = options;
  const node = createNodeSide();
  let hot = options.hotPath;
  let hasAnsweredHot = false;
  let nodeReader: NodeReader | undefined;
  let reader: Reader | undefined;
  let lastUse = nextUse();
  let timeoutMs = 0;

  const setTimeoutMs = (ms: number): void => {
    if (timeoutMs !== ms) socket.setTimeout((timeoutMs = ms));
  };

  const onTimeout = (): void => {
    if (reader?.isAwaitingEnd()) reader.handleNext();
    else if (hasAnsweredHot) socket.destroy();
    else {
      nodeReader = becomeNodes();
      options.onSilence();
    }
  };

  const becomeNodes = (): NodeReader => {
    hot = undefined;
    if (reader) socket.off('data', reader.onData).off('end', reader.onEnd);
    socket.off('timeout', onTimeout).setTimeout(0);
    const listeners = options.giveToNode();
    // Only now: with another listener present, node:http leaves the reading to the stream.
    if (reader) socket.on('data', reader.onData).on('end', reader.onEnd);
    // node:http calls this to close a connection after its last response.
    socket.destroySoon = close;
    return listeners;
  };

  const close = (): void => {
    reader?.stop();
    closeGracefully(socket);
  };

  return {
    ...node,
    begin: (theReader) => {
      reader = theReader;
      if (hot) {
        socket.on('data', reader.onData).on('end', reader.onEnd).on('timeout', onTimeout);
        setTimeoutMs(limits.headersTimeoutMs);
      } else nodeReader = becomeNodes();
    },
    answerHot: (bytes) => {
      const outcome = hot?.(bytes, socket) ?? 'other';
      if (outcome === 'incomplete' || outcome === 'other') return outcome;
      lastUse = nextUse();
      hasAnsweredHot = true;
      if (outcome === 'answered_last') close();
      else setTimeoutMs(limits.keepAliveTimeoutMs + KEEP_ALIVE_MARGIN_MS);
      return outcome;
    },
    giveToNode: (piece) => node.feed((nodeReader ??= becomeNodes()), piece),
    end: () => {
      if (nodeReader) nodeReader.onEnd();
      else socket.end();
    },
    isDue: () => node.owed() > 0 || socket.writableLength > 0,
    setTimeoutMs,
    onNodeRequest: (req, res) => {
      lastUse = nextUse();
      node.onRequest(req, res, () => reader?.onAnswered());
    },
    lastUse: () => lastUse,
  };
};

/** As in node:http: a request sent at the last advertised moment still finds the connection open. */
const KEEP_ALIVE_MARGIN_MS = 1_000;
