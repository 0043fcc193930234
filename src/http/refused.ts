import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { problemResponse } from './problems.ts';
import { READING_METHODS, type FlatHeaders } from './headers.ts';
import type { RefusalCode, RefusalResponse } from '../http-front/index.ts';

// The responses to a request that no application gets, because it is broken, too large or late, or
// CONNECT, and to one in which an error was thrown. It is the same problem+json as any other error,
// with the headers of every response. Each writes one log line.

export const createRespondToRefused =
  (commonHeaders: FlatHeaders, logger: Logger) =>
  (code: RefusalCode): RefusalResponse => {
    const requestId = randomUUID();
    const { status, headers, body } = problemResponse(code);
    logger.info({ statusCode: status, code, requestId }, 'request refused');
    const allow = code === 'method_not_allowed' ? ['Allow', READING_METHODS] : [];
    const own = ['X-Request-Id', requestId, ...allow];
    return { status, headers: [...commonHeaders, ...own, ...headers], body };
  };

export const createRespondToFault =
  (commonHeaders: FlatHeaders, logger: Logger) =>
  (error: unknown): RefusalResponse => {
    const requestId = randomUUID();
    const { status, headers, body } = problemResponse('internal_error');
    logger.error({ err: error, requestId }, 'unexpected error in a request');
    return { status, headers: [...commonHeaders, 'X-Request-Id', requestId, ...headers], body };
  };
