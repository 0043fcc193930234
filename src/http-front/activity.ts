import { refuse, releaseStream, type Connection } from './connection.ts';
import { KEEP_ALIVE_MARGIN_MS, LINGER_MS } from './limits.ts';

// Tells what a connection is doing, and closes it if that takes too long.

/**
 * `arriving`: just accepted, its first request may be on its way. `idle`: between two requests.
 * `receiving`: in the middle of a head. `responding`: the client waits, or does not read.
 * `closing`: it has the last response.
 */
export type Activity = 'arriving' | 'idle' | 'receiving' | 'responding' | 'closing';

export const activityOf = (
  connection: Connection,
  arrivalMs = connection.shared.limits.arrivalMs,
): Activity => {
  const { input, socket, received, searchedBytes, nodeRequest, hasHadRequest } = connection;
  if (nodeRequest?.response || socket.writableLength > 0) return 'responding';
  if (input === 'ended') return 'closing';
  // node:http has got the head, but has made no request of it.
  if (nodeRequest) return 'receiving';
  if (received.length > 0) return searchedBytes > 0 ? 'receiving' : 'responding';
  const isArriving = !hasHadRequest && performance.now() - connection.activitySinceMs < arrivalMs;
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
    if (connection.input === 'ended') connection.activitySinceMs = nowMs;
    return;
  }
  const passedMs = nowMs - connection.activitySinceMs;
  const activity = activityOf(connection);
  // Between requests, a connection keeps nothing of node:http for long.
  if (!connection.nodeRequest) releaseStream(connection);
  if (activity === 'closing') {
    if (passedMs >= LINGER_MS) socket.destroy();
  } else if (activity === 'idle' && hasHadRequest) {
    if (passedMs >= limits.keepAliveTimeoutMs + KEEP_ALIVE_MARGIN_MS) socket.destroy();
  } else if (activity !== 'responding') {
    if (passedMs >= limits.headersTimeoutMs) refuse(connection, 'request_timeout');
  }
};
