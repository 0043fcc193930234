import helmet from 'helmet';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Cors } from './cors.ts';
import type { FlatHeaders } from './headers.ts';

// The headers of every response: of the Express application, and of what is answered without it, by
// the hot path or because it is refused.

/**
 * Gives the headers of every response to a request with this `Origin`: the same array each time.
 */
export type CommonHeaders = (origin: string | undefined) => FlatHeaders;

export const createCommonHeaders = (cors: Cors): CommonHeaders => {
  const always = securityHeaders(cors.resourcePolicy);
  const withCors = new Map(cors.all.map((own) => [own, [...always, ...own]]));
  return (origin) => withCors.get(cors.headers(origin)) ?? always;
};

/**
 * Helmet's headers for responses that are data: nothing in them may be run, framed or embedded
 * beyond what CORS allows. None of them depends on the request.
 */
const securityHeaders = (resourcePolicy: Cors['resourcePolicy']): FlatHeaders => {
  const setAll = helmet({
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
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  setAll(res.req, res, () => undefined);
  return res.getRawHeaderNames().flatMap((name) => [name, String(res.getHeader(name))]);
};
