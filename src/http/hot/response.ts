import type { Socket } from 'node:net';

// Sends one prepared response again and again, each time with another request id.

export interface ResponseParts {
  /** The head up to the request id. */
  readonly beforeId: string;
  /** The head after it, for a connection that stays open and for one that ends. */
  readonly afterId: string;
  readonly afterIdLast: string;
  readonly body: Buffer;
}

export interface SendOptions {
  /** At most 128 ASCII characters. */
  readonly requestId: string;
  /** Whether the head says that the connection ends. */
  readonly isLast: boolean;
  readonly isWithoutBody: boolean;
}

export type Send = (socket: Socket, options: SendOptions) => void;

/**
 * Head and body stay in one buffer, into which each id is written: that takes 0.5 to 0.9 µs less than two pieces, and leaves no
 * garbage. The buffer may be changed only if the system has taken all of it. If not, it belongs to that connection, and all later
 * responses are sent in two pieces; `whole-answers.ts` makes new ones every second.
 */
export const createSend = ({ beforeId, afterId, afterIdLast, body }: ResponseParts): Send => {
  const idEnd = beforeId.length + LONGEST_ID;
  let joined: Buffer | undefined;
  /** The part of `joined` that was sent last: most ids have the same length. */
  let sent: Buffer = NOTHING;
  let isJoinable = body.length <= LARGEST_JOINED;

  return (socket, { requestId, isLast, isWithoutBody }) => {
    if (isJoinable && !isLast && !isWithoutBody) {
      joined ??= Buffer.concat([Buffer.alloc(idEnd), Buffer.from(afterId, 'latin1'), body]);
      const start = idEnd - beforeId.length - requestId.length;
      if (sent.length !== joined.length - start) {
        sent = joined.subarray(start);
        sent.write(beforeId, 'latin1');
      }
      joined.write(requestId, idEnd - requestId.length, 'latin1');
      socket.write(sent);
      isJoinable = socket.writableLength === 0;
      return;
    }
    // One system call for both.
    socket.cork();
    socket.write(beforeId + requestId + (isLast ? afterIdLast : afterId), 'latin1');
    if (!isWithoutBody) socket.write(body);
    socket.uncork();
  };
};

const NOTHING = Buffer.alloc(0);
const LONGEST_ID = 128;
/** Copying more every second would cost more than it saves. */
const LARGEST_JOINED = 64 * 1_024;
