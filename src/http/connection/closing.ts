import type { Duplex } from 'node:stream';
import { LINGER_MS } from '../listener/limits.ts';

/**
 * Ends our side, and closes the connection when the client does or after `LINGER_MS`. Further input is discarded.
 * Closing at once with unread bytes would reset the connection, and the client would lose the last response (RFC 9112
 * section 9.6).
 */
export const closeGracefully = (socket: Duplex): void => {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
};
