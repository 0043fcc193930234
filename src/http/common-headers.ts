import helmet from 'helmet';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Cors } from './cors.ts';
import type { FlatHeaders } from './headers.ts';

// The headers of every response: of the Express application, which has them from a middleware, and
// of what is answered without it, by the hot path or because it is refused.

/**
 * Helmet's headers for responses that are data: nothing in them may be run, framed or embedded
 * beyond what CORS allows. None of them depends on the request.
 */
export const createSecurityHeaders = (resourcePolicy: Cors['resourcePolicy']) =>
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    crossOriginResourcePolicy: { policy: resourcePolicy },
    referrerPolicy: { policy: 'no-referrer' },
    // The service speaks plain HTTP (RFC 6797 section 7.2). Whoever ends TLS decides for the host
    // name and its subdomains.
    strictTransportSecurity: false,
    xFrameOptions: { action: 'deny' },
  });

/**
 * Gives the headers of every response to a request with this `Origin`: the same array each time.
 */
export type CommonHeaders = (origin: string | undefined) => FlatHeaders;

/** @param securityHeaders is run once, for the headers that it sets on every response */
export const createCommonHeaders = (
  securityHeaders: ReturnType<typeof createSecurityHeaders>,
  cors: Cors,
): CommonHeaders => {
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  securityHeaders(res.req, res, () => undefined);
  const always = res.getRawHeaderNames().flatMap((name) => [name, String(res.getHeader(name))]);
  const withCors = new Map(cors.all.map((own) => [own, [...always, ...own]]));
  return (origin) => withCors.get(cors.headers(origin)) ?? always;
};
