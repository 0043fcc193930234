import type { Socket } from 'node:net';
import type { HotPath } from './hot-path.ts';
import type { Limits } from './limits.ts';

// A connection while the hot path answers on it: read, timed out and closed as node:http would.

export interface HotConnectionOptions {
  readonly hotPath: HotPath;
  readonly limits: Pick<Limits, 'headersTimeoutMs' | 'keepAliveTimeoutMs'>;
  /** Gets the connection with the first request that the hot path does not take; that request is still to be read. */
  readonly onOther: (socket: Socket) => void;
  /** Gets a connection that has brought nothing within `headersTimeoutMs`. */
  readonly onSilent: (socket: Socket) => void;
}

export const serveHot = (
  socket: Socket,
  { hotPath, limits, onOther, onSilent }: HotConnectionOptions,
): void => {
  const answer = hotPath(socket);
  let hasAnswered = false;

  const onData = (request: Buffer): void => {
    // A client that asks on before it has taken the answer: node:http knows how to make it wait.
    const isBehind = socket.writableLength > 0;
    if (isBehind || !answer(request)) {
      leave();
      socket.unshift(request);
      onOther(socket);
    } else if (!hasAnswered) {
      hasAnswered = true;
      socket.setTimeout(limits.keepAliveTimeoutMs);
    }
  };
  const onTimeout = (): void => {
    leave();
    if (hasAnswered) socket.destroy();
    else onSilent(socket);
  };
  const onEnd = (): void => void socket.end();
  // The socket is closed by then, and what is to be done about it is done on 'close'.
  const onError = (): void => undefined;
  const leave = (): void => {
    socket
      .off('data', onData)
      .off('timeout', onTimeout)
      .off('end', onEnd)
      .off('error', onError)
      .setTimeout(0);
  };

  socket.on('data', onData).on('timeout', onTimeout).on('end', onEnd).on('error', onError);
  socket.setTimeout(limits.headersTimeoutMs);
};
