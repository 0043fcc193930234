import type { Socket } from 'node:net';
import { createOrdinaryRequestReader, type OrdinaryRequest } from './ordinary-request.ts';
import { createWriteResponse, type PreparedResponse } from './prepared-response.ts';

// The hot path reads an ordinary request for one path from the bytes of its head, and writes a
// prepared response. All it knows of the connection is that it may write now.

export interface HotPath {
  /** GET requests for this path, with any query. */
  readonly path: string;
  /** The names of the request headers that `respond` reads, in lower case. */
  readonly headers: readonly string[];
  /** Gives the response, if it can be given at once; undefined: the application must give it. */
  readonly respond: (request: OrdinaryRequest) => HotResponse | undefined;
  /** Is given what was thrown in reading or responding; the application gets that request. */
  readonly onError: (error: unknown) => void;
}

interface HotResponse extends PreparedResponse {
  /**
   * Called once, when all of the response has been written or the client has gone before: then
   * `isWritten` is false.
   */
  readonly end: (isWritten: boolean) => void;
}

/**
 * Responds on `socket` if `bytes` are the whole head of an ordinary request; undefined: node:http
 * must. `isEnding`: the connection ends with the response, whatever the client wants.
 */
export type RespondToHead = (
  bytes: Buffer,
  socket: Socket,
  isEnding: boolean,
) => (Pick<HotResponse, 'end'> & Pick<OrdinaryRequest, 'isLast'>) | undefined;

export const createRespondToHead = (
  { path, headers, respond, onError }: HotPath,
  keepAliveTimeoutMs: number,
): RespondToHead => {
  const read = createOrdinaryRequestReader(path, headers);
  const write = createWriteResponse(keepAliveTimeoutMs);
  return (bytes, socket, isEnding) => {
    try {
      const request = read(bytes, socket);
      const response = request && respond(request);
      if (!response) return undefined;
      const isLast = isEnding || request.isLast;
      write(socket, response, isLast);
      return { isLast, end: response.end };
    } catch (error) {
      onError(error);
      return undefined;
    }
  };
};
