import type { RequestListener } from 'node:http';
import type { HotPath } from '../../src/http-front/hot-path.ts';
import { LIMITS, type Limits } from '../../src/http-front/limits.ts';
import type { OrdinaryRequest } from '../../src/http-front/ordinary-request.ts';
import type { RefusalCode } from '../../src/http-front/refusals.ts';
import { createHttpFront, type HttpFrontOptions } from '../../src/http-front/front.ts';
import { closeLater } from './close-later.ts';
import { createManualClock } from './manual-clock.ts';

// The server of both ports by itself, with limits that pass while a test looks on.

export type ServerRig = Awaited<ReturnType<typeof startServer>>;

interface ServerRigOptions extends Partial<Omit<HttpFrontOptions, 'limits'>> {
  readonly limits?: Partial<Limits>;
}

/** Responds to ordinary requests for /hot, with its method and target unless told otherwise. */
export const createHotPath = (bodyFor = echo): HotPath => ({
  path: '/hot',
  headers: [],
  respond: (request) => {
    const body = bodyFor(request);
    return {
      status: 200,
      common: [],
      headers: ['Content-Length', String(body.length)],
      body,
      requestId: 'request',
      end: () => undefined,
    };
  },
  onError: (error) => {
    throw error;
  },
});

const echo = ({ method, url }: OrdinaryRequest): Buffer => Buffer.from(`[${method} ${url}]`);

export const hotPath = createHotPath();

/** It is closed after the test. */
export const startServer = async (
  app: RequestListener,
  { limits, ...options }: ServerRigOptions = {},
) => {
  const clock = createManualClock();
  const refusals: RefusalCode[] = [];
  const server = createHttpFront({
    hotPath,
    app,
    clock,
    respondToRefused: (refusal) => {
      refusals.push(refusal);
      return refused(STATUSES[refusal]);
    },
    limits: { ...LIMITS, checkIntervalMs: 20, ...limits },
    ...options,
  });
  closeLater(() => server.close());
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  return { url, server, clock, refusals };
};

const refused = (status: number) => ({
  status,
  headers: ['Content-Length', '7', 'X-Refused', 'yes'],
  body: 'refused',
});
export const STATUSES: Readonly<Record<RefusalCode, number>> = {
  bad_request: 400,
  request_timeout: 408,
  headers_too_large: 431,
};
