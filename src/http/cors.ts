import type { Config } from '../config/config.ts';
import type { FlatHeaders } from './headers.ts';

// Which other origins may read the responses (the Fetch standard, section 3.2). Never with
// credentials: there are none.

export type Cors = ReturnType<typeof createCors>;

export const createCors = (origins: Config['corsOrigins']) => {
  const isOpen = origins === '*';
  const allowed = new Map(
    (isOpen ? ['*'] : origins).map((origin) => [origin, allowedHeaders(origin)]),
  );
  /**
   * The headers from which a browser learns whether a page of `origin` may read the response. The
   * same array each time.
   */
  const headers = (origin: string | undefined): FlatHeaders =>
    allowed.get(isOpen ? '*' : (origin ?? '')) ?? NOT_ALLOWED;
  return {
    headers,
    /** What `headers` may give for an origin that is allowed. */
    all: [...allowed.values()],
    /** Whether the responses differ by origin. */
    varies: allowed.size > 0 && !isOpen,
    /** More headers of the response to an OPTIONS request, which a preflight is. */
    preflightHeaders: (origin: string | undefined): FlatHeaders =>
      headers(origin) === NOT_ALLOWED ? [] : PREFLIGHT_HEADERS,
    /**
     * Follows the origins: `same-origin` would prevent even an allowed frontend from embedding a
     * response.
     */
    resourcePolicy: allowed.size > 0 ? 'cross-origin' : 'same-origin',
  } as const;
};

/** The headers for an origin that is not allowed. */
const NOT_ALLOWED: FlatHeaders = [];

const allowedHeaders = (origin: string): FlatHeaders => [
  'Access-Control-Allow-Origin',
  origin,
  'Access-Control-Expose-Headers',
  'ETag, Cache-Status, Retry-After, X-Request-Id',
];

const PREFLIGHT_HEADERS: FlatHeaders = [
  'Access-Control-Allow-Methods',
  'GET, HEAD',
  // What this service reads, and what HTTP clients and tracing libraries add without being asked. A
  // fixed list, so that the response does not depend on Access-Control-Request-Headers.
  'Access-Control-Allow-Headers',
  'Cache-Control, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Unmodified-Since, Pragma, ' +
    'X-Request-Id, baggage, traceparent, tracestate',
  // Two hours, the longest that Chromium keeps one; Firefox would take a day.
  'Access-Control-Max-Age',
  '7200',
];
