import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

// What node:http gets in place of a socket: it reads the bytes that connection.ts pushes, the heads
// of one request after the other, and what it writes goes to the socket.

/** @param onDestroyed the application, node:http or the connection has given up */
export const createRequestStream = (socket: Socket, onDestroyed: () => void): Duplex => {
  // Node reports no error to writes that are pending when the socket is destroyed. Such a write
  // never ends here: node:http would take its response for sent.
  const onceWritten = (done: () => void) => (error?: Error | null) => {
    if (!error && !socket.destroyed) done();
  };
  const stream = new Duplex({
    decodeStrings: false,
    read: () => undefined,
    write: (chunk: Buffer | string, encoding, done) =>
      void socket.write(chunk, encoding, onceWritten(done)),
    // A head and its body: one system call for both.
    writev: (chunks, done) => {
      const last = chunks.length - 1;
      socket.cork();
      for (const [index, { chunk, encoding }] of chunks.entries())
        socket.write(chunk, encoding, index === last ? onceWritten(done) : undefined);
      socket.uncork();
    },
    destroy: (error, done) => {
      onDestroyed();
      done(error);
    },
  });
  // What applications and monitoring agents read of a socket.
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  return Object.assign(stream, { remoteAddress, remotePort, localAddress, localPort });
};
