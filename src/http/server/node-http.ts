import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { toStatusLine } from '../headers.ts';
import { HIGH_WATER_MARK_BYTES, MAX_HEADER_BYTES } from './limits.ts';

// node:http as this service uses it. Its server never listens: it is given streams through its documented 'connection' event,
// each as a connection, and it answers on them. Who reads the socket, and when, stays with connection.ts.

/** `keepAliveTimeoutMs` is only what answers advertise: the times of a connection are kept in connection.ts. */
export const createNodeServer = (keepAliveTimeoutMs: number): Server => {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: 0,
    requestTimeout: 0,
    // Node's answer would be a bare 400; refusals.ts looks at Host.
    requireHostHeader: false,
  });
  // Node's own answers to these would be a 100 that invites a body, and a bare 417.
  server.on('checkContinue', (req, res) => server.emit('request', req, res));
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  return server;
};

/**
 * A stream for node:http: it reads what is pushed, and writes to `socket`, whose addresses it has. It calls `read` when it could
 * take more, `end` when the last answer has been written, and `destroy` when node:http or the application has destroyed it.
 */
export const createNodeStream = (
  socket: Socket,
  on: Readonly<Record<'read' | 'end' | 'destroy', () => void>>,
): Duplex => {
  /** A write that the end of the connection has cut off never ends here: node:http would take its answer for sent. */
  const onceTaken =
    (done: () => void) =>
    (error?: Error | null): void => {
      // Node reports no error to those that are under way when the socket is destroyed.
      if (!error && !socket.destroyed) done();
    };
  const stream = new Duplex({
    readableHighWaterMark: 1,
    writableHighWaterMark: HIGH_WATER_MARK_BYTES,
    decodeStrings: false,
    read: on.read,
    write: (chunk, encoding, done) => void socket.write(chunk, encoding, onceTaken(done)),
    // A head and its body: one system call for both.
    writev: (chunks, done) => {
      socket.cork();
      for (const [index, { chunk, encoding }] of chunks.entries())
        socket.write(chunk, encoding, index === chunks.length - 1 ? onceTaken(done) : undefined);
      socket.uncork();
    },
    final: (done) => {
      on.end();
      done();
    },
    destroy: (error, done) => {
      on.destroy();
      done(error);
    },
  });
  const { remoteAddress, remotePort, remoteFamily, localAddress, localPort } = socket;
  return Object.assign(stream, { remoteAddress, remotePort, remoteFamily, localAddress, localPort });
};

/**
 * Rejects unless node:http does what connection.ts relies on: it answers on a stream that it is given, ends the stream before
 * the response closes if the answer is the last, and only then, and reports what it cannot parse. To be called at start.
 */
export const checkNodeHttp = async (server = createNodeServer(1_000)): Promise<void> => {
  for (const [request, expected] of EXPECTED) {
    const seen = await observe(server, `${request}\r\n\r\n`);
    if (seen !== expected)
      throw new Error(
        `this service does not work with node:http of Node ${process.versions.node}: a stream that is given to it with ` +
          `'connection' and has "${request}" should be ${expected}, and is ${seen}; use another version of Node`,
      );
  }
};

const EXPECTED = [
  ['GET / HTTP/1.1', 'answered'],
  ['GET / HTTP/1.0', 'answered and ended'],
  ['garbage', 'refused'],
] as const;
const CHECK_MS = 1_000;

/** What `server` does with `bytes` on a stream. */
const observe = (server: Server, bytes: string): Promise<string> =>
  new Promise((resolve) => {
    let written = '';
    const stream = new Duplex({
      read: () => undefined,
      write: (chunk, _encoding, done) => done(void (written += String(chunk))),
    });
    const timer = setTimeout(resolve, CHECK_MS, 'ignored');
    stream.once('close', () => clearTimeout(timer));
    server.removeAllListeners('clientError').removeAllListeners('request');
    server.once('clientError', (_error, broken) => {
      resolve(broken === stream ? 'refused' : 'mistaken');
      stream.destroy();
    });
    server.once('request', (req, res) => {
      res.end().once('close', () => {
        const isRight = req.socket === stream && req.complete && written.startsWith(toStatusLine(200));
        resolve(`${isRight ? 'answered' : 'mistaken'}${stream.writableEnded ? ' and ended' : ''}`);
        stream.destroy();
      });
    });
    server.emit('connection', stream);
    stream.push(bytes);
  });
