import { refuse, releaseStream, type Connection } from './connection.ts';
import { KEEP_ALIVE_MARGIN_MS, LINGER_MS } from './limits.ts';

// What a connection is doing, and for how long it may.

/**
 * `arriving`: just accepted, its first request may be on its way. `idle`: between two requests.
 * `receiving`: in the middle of a head. `responding`: the client waits, or does not read.
 * `closing`: it has the last response.
 */
export type Phase = 'arriving' | 'idle' | 'receiving' | 'responding' | 'closing';

export const phaseOf = (
  connection: Connection,
  arrivalMs = connection.shared.limits.arrivalMs,
): Phase => {
  const { state, socket, received, partialHead, nodeRequest, hasHadRequest } = connection;
  if (nodeRequest?.response || socket.writableLength > 0) return 'responding';
  if (state === 'closing') return 'closing';
  // node:http has got the head, but has made no request of it.
  if (nodeRequest) return 'receiving';
  if (received.length > 0) return partialHead ? 'receiving' : 'responding';
  const isArriving = !hasHadRequest && performance.now() - connection.phaseSinceMs < arrivalMs;
  return isArriving ? 'arriving' : 'idle';
};

/** Ends what takes too long. To be called every `checkIntervalMs`. */
export const endOverdue = (connection: Connection, nowMs: number): void => {
  const { socket, lastProgress, hasHadRequest } = connection;
  const { limits } = connection.shared;
  if (socket.writableLength > 0) {
    const writtenBytes = socket.bytesWritten - socket.writableLength;
    if (writtenBytes !== lastProgress.writtenBytes)
      connection.lastProgress = { writtenBytes, atMs: nowMs };
    else if (nowMs - lastProgress.atMs >= limits.slowReaderMs) socket.destroy();
    // The client gets its time to close once it has everything.
    if (connection.state === 'closing') connection.phaseSinceMs = nowMs;
    return;
  }
  const passedMs = nowMs - connection.phaseSinceMs;
  const phase = phaseOf(connection);
  // Between requests, a connection keeps nothing of node:http for long.
  if (!connection.nodeRequest) releaseStream(connection);
  if (phase === 'closing') {
    if (passedMs >= LINGER_MS) socket.destroy();
  } else if (phase === 'idle' && hasHadRequest) {
    if (passedMs >= limits.keepAliveTimeoutMs + KEEP_ALIVE_MARGIN_MS) socket.destroy();
  } else if (phase !== 'responding') {
    if (passedMs >= limits.headersTimeoutMs) refuse(connection, 'request_timeout');
  }
};
