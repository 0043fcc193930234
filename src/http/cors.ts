import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/config.ts';
import type { FlatHeaders } from './headers.ts';

// Which other origins may read the answers (the Fetch standard, section 3.2). Never with credentials: there are none.

export interface Cors {
  /** The headers from which a browser learns whether a page of `origin` may read the answer. The same array each time. */
  headers(origin: string | undefined): FlatHeaders;
  /** Whether the request comes from a page of an origin that is not allowed: its browser will not show it the answer. */
  refuses(origin: string | undefined): boolean;
  /** The further headers of the answer to an OPTIONS request: empty unless it is a preflight. */
  preflightHeaders(req: IncomingMessage): FlatHeaders;
  /** Whether the answers differ by origin, so that each must have `Vary: Origin`, refusals included. */
  readonly varies: boolean;
  /** Follows the origins: `same-origin` would prevent even an allowed frontend from embedding an answer. */
  readonly resourcePolicy: 'same-origin' | 'cross-origin';
}

export const createCors = (origins: Config['corsOrigins']): Cors => {
  const isOpen = origins === '*';
  const allowed = new Map((isOpen ? ['*'] : origins).map((origin) => [origin, allowedHeaders(origin)]));
  const headers = (origin: string | undefined): FlatHeaders =>
    allowed.get(isOpen ? '*' : (origin ?? '')) ?? NOT_ALLOWED;
  return {
    headers,
    refuses: (origin) => origin !== undefined && headers(origin) === NOT_ALLOWED,
    preflightHeaders: ({ headers: { origin, 'access-control-request-method': method } }) => {
      const isPreflight = origin !== undefined && method !== undefined;
      return isPreflight && headers(origin) !== NOT_ALLOWED ? PREFLIGHT_HEADERS : NOT_ALLOWED;
    },
    varies: allowed.size > 0 && !isOpen,
    resourcePolicy: allowed.size > 0 ? 'cross-origin' : 'same-origin',
  };
};

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
  // What this service reads, and what HTTP clients and tracing libraries add without being asked. A fixed list, so
  // that the answer does not depend on Access-Control-Request-Headers.
  'Access-Control-Allow-Headers',
  'Cache-Control, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Unmodified-Since, Pragma, ' +
    'X-Request-Id, baggage, traceparent, tracestate',
  // Two hours, the longest that Chromium keeps one; Firefox would take a day.
  'Access-Control-Max-Age',
  '7200',
];
