import type { RequestListener } from 'node:http';
import type { HotPath } from '../../src/http/server/connection.ts';
import { LIMITS, type Limits } from '../../src/http/server/limits.ts';
import type { ParserRefusal } from '../../src/http/server/refusals.ts';
import { createBoundedServer, type BoundedServerOptions } from '../../src/http/server/server.ts';
import { closeLater } from './close-later.ts';
import { createManualClock } from './manual-clock.ts';

// The server of both ports by itself, with limits that pass while a test looks on.

export type ServerRig = Awaited<ReturnType<typeof startServer>>;

interface ServerRigOptions extends Partial<Omit<BoundedServerOptions, 'limits'>> {
  readonly limits?: Partial<Limits>;
}

/** Answers requests for /hot on the socket, with the target; all others are the application's. */
export const hotPath: HotPath = (head, socket) => {
  const path = /^GET (\/hot\S*) HTTP\/1\.1\r\nHost: a\r\n\r\n$/.exec(head.toString('latin1'))?.[1];
  if (path === undefined) return undefined;
  const body = `[GET ${path}]`;
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  return { isLast: false };
};

/** It is closed after the test. */
export const startServer = async (
  app: RequestListener,
  { limits, ...options }: ServerRigOptions = {},
) => {
  const clock = createManualClock();
  const refusals: ParserRefusal[] = [];
  const server = createBoundedServer({
    hotPath,
    loadApp: () => Promise.resolve(app),
    clock,
    commonHeaders: [],
    onRefusal: (refusal) => refusals.push(refusal),
    limits: { ...LIMITS, checkIntervalMs: 20, ...limits },
    ...options,
  });
  closeLater(() => server.close());
  return { url: await server.listen({ port: 0, host: '127.0.0.1' }), server, clock, refusals };
};
