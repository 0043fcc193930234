import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { problemResponse } from './problems.ts';
import { READING_METHODS, type FlatHeaders } from './headers.ts';
import type { RefusalCode, RefusalResponse } from '../http-front/index.ts';

// The response to a request that no application gets: broken, too large or late, or CONNECT. It is
// the same problem+json as any other error, with the headers of every response.

/** Gives the response, and logs that it was given. */
export const createRespondToRefused =
  (commonHeaders: FlatHeaders, logger: Logger) =>
  (code: RefusalCode): RefusalResponse => {
    const requestId = randomUUID();
    const { status, headers, body } = problemResponse(code);
    // As in request-log.ts.
    const level = status < 500 ? 'info' : 'warn';
    logger[level]({ statusCode: status, code, requestId }, 'request refused');
    const own = ['X-Request-Id', requestId, ...(MORE_HEADERS[code] ?? [])];
    return { status, headers: [...commonHeaders, ...own, ...headers], body };
  };

const MORE_HEADERS: { readonly [Code in RefusalCode]?: FlatHeaders } = {
  method_not_allowed: ['Allow', READING_METHODS],
  overloaded: ['Retry-After', '1'],
};
