import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Server, type Socket } from 'node:net';

// A forward proxy in this process, for tests that look at what it is sent, or that answer as no
// real one does.

export interface TunnelOptions {
  /** The port on loopback to which every tunnel leads; unless given, the one that was asked for. */
  readonly to?: () => number;
  /** What it answers to CONNECT. */
  readonly head?: string;
  readonly onConnect?: (request: IncomingMessage) => void;
}

/** A server that opens tunnels; `listenOn` starts it. */
export const createTunnels = ({
  to,
  head = 'HTTP/1.1 200 OK\r\n\r\n',
  onConnect,
}: TunnelOptions = {}): Server =>
  createServer().on('connect', (request: IncomingMessage, socket: Socket) => {
    onConnect?.(request);
    const onward = connect(to?.() ?? Number(request.url?.split(':')[1]), '127.0.0.1');
    for (const end of [socket, onward]) end.on('error', () => undefined);
    socket.write(head);
    socket.pipe(onward).pipe(socket);
  });
