import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { problemResponse } from './problems.ts';
import { READING_METHODS, type FlatHeaders } from './headers.ts';
import type { RefusalCode, RefusalResponse } from '../http-front/index.ts';

// The response to a request that no application gets, because it is broken, too large or late, or
// CONNECT, or that is given up for the bound on memory. It is the same problem+json as any other
// error, with the headers of every response.

/** What the client got instead of the application's response. */
interface Refused {
  readonly status: number;
  readonly contentBytes: number;
  readonly isWritten: true;
}

const sentInstead = new WeakMap<ServerResponse, Refused>();

/** What was sent instead of this response, if the front gave up its request. */
export const refusedInsteadOf = (res: ServerResponse): Refused | undefined => sentInstead.get(res);

/**
 * Gives the response. `pending` is the application's, if it had the request and had not begun to
 * respond. Its request id is kept, and its request log writes the line; otherwise the line is
 * written here.
 */
export const createRespondToRefused =
  (commonHeaders: FlatHeaders, logger: Logger) =>
  (code: RefusalCode, pending?: ServerResponse): RefusalResponse => {
    const requestId = String(pending?.getHeader('X-Request-Id') ?? randomUUID());
    const { status, headers, body } = problemResponse(code);
    if (pending)
      sentInstead.set(pending, {
        status,
        contentBytes: Buffer.byteLength(body),
        isWritten: true,
      });
    // As in request-log.ts.
    else
      logger[status < 500 ? 'info' : 'warn'](
        { statusCode: status, code, requestId },
        'request refused',
      );
    const own = ['X-Request-Id', requestId, ...(MORE_HEADERS[code] ?? [])];
    return { status, headers: [...commonHeaders, ...own, ...headers], body };
  };

const MORE_HEADERS: { readonly [Code in RefusalCode]?: FlatHeaders } = {
  method_not_allowed: ['Allow', READING_METHODS],
  overloaded: ['Retry-After', '1'],
};
