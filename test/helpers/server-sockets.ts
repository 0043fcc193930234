import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';

// The connections that servers of this process have accepted and not closed yet: what a client
// cannot see of its own.

const open = new Set<Socket>();
subscribe('net.server.socket', (message) => {
  const socket =
    typeof message === 'object' && message && 'socket' in message ? message.socket : undefined;
  if (socket instanceof Socket) open.add(socket.once('close', () => open.delete(socket)));
});

/** How many connections the server at `url` has open. */
export const connectionsOf = (url: string): number => {
  const port = Number(new URL(url).port);
  return [...open].filter(({ localPort }) => localPort === port).length;
};
