import { expect, test } from '@jest/globals';
import type { Server } from 'node:http';
import { checkNodeHttp, createNodeServer } from '../../../src/http/server/node-http.ts';

// A Node whose node:http does not do what the service relies on must be noticed at the start.

const without = (event: string): Server => createNodeServer(1_000).removeAllListeners(event);
const withLateEnd = (): Server =>
  createNodeServer(1_000).on('connection', (stream) => {
    Object.assign(stream, { end: () => undefined });
  });

test.each([
  ['nobody takes the connections that are given to it', without('connection'), 'answered, and is ignored'],
  ['the last answer does not end its stream in time', withLateEnd(), 'answered and ended, and is answered;'],
])('%s', async (_what, server, message) => {
  await expect(checkNodeHttp(server)).rejects.toThrow(message);
  await expect(checkNodeHttp(server)).rejects.toThrow(
    `node:http of Node ${process.versions.node}: a stream that is given to it with 'connection'`,
  );
});
