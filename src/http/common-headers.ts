import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';
import type { Cors } from './cors.ts';
import type { FlatHeaders } from './headers.ts';

// The headers of every response: from the hot path, from the Express application, and from the
// server if it refuses a request. Only headers added here are on all of them: a middleware of
// Express does not see the requests that the hot path answers.

/**
 * Gives the headers of every response to a request with this `Origin`: the same array each time.
 */
export type CommonHeaders = (origin: string | undefined) => FlatHeaders;

export const createCommonHeaders = (
  cors: Pick<Cors, 'headers' | 'resourcePolicy'>,
): CommonHeaders => {
  const securityHeaders = createSecurityHeaders(cors.resourcePolicy);
  /** By what CORS adds for an origin. */
  const made = new Map<FlatHeaders, FlatHeaders>();
  return (origin) => {
    const own = cors.headers(origin);
    const headers = made.get(own) ?? [...securityHeaders, ...own];
    made.set(own, headers);
    return headers;
  };
};

/**
 * Helmet's headers for responses that are data: nothing in them may be run, framed or embedded
 * beyond what CORS allows. Helmet runs once, at start: none of them depends on the request.
 */
const createSecurityHeaders = (resourcePolicy: 'same-origin' | 'cross-origin'): FlatHeaders => {
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
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
  })(req, res, (error) => {
    if (error) throw error;
  });
  return Object.entries(res.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
};
