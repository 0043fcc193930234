import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { problemResponse } from './problems.ts';
import { READING_METHODS, type FlatHeaders } from './headers.ts';
import type { RefusalCode, RefusalResponse } from '../http-front/index.ts';

// The responses to a request that no application gets, because it is broken, too large or late, or
// CONNECT, and to one in which an error was thrown. It is the same problem+json as any other error,
// with the headers of every response. Each writes one log line.

export const createRefusedResponses = (commonHeaders: FlatHeaders, logger: Logger) => {
  const respondWith = (code: RefusalCode | 'internal_error', requestId: string) => {
    const { status, headers, body } = problemResponse(code);
    const allow = code === 'method_not_allowed' ? ['Allow', READING_METHODS] : [];
    const own = ['X-Request-Id', requestId, ...allow];
    return { status, headers: [...commonHeaders, ...own, ...headers], body };
  };
  return {
    respondToRefused: (code: RefusalCode): RefusalResponse => {
      const requestId = randomUUID();
      const response = respondWith(code, requestId);
      logger.info({ statusCode: response.status, code, requestId }, 'request refused');
      return response;
    },
    respondToFault: (error: unknown): RefusalResponse => {
      const requestId = randomUUID();
      const response = respondWith('internal_error', requestId);
      const facts = { statusCode: response.status, requestId, err: error };
      logger.error(facts, 'unexpected error in a request');
      return response;
    },
  };
};
