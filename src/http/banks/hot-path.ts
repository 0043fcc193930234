import type { BankList } from '../../banks/bank-list.ts';
import type { HotPath } from '../../http-front/index.ts';
import type { Logger } from 'pino';
import type { CommonHeaders } from '../common-headers.ts';
import type { RequestLog } from '../request-log.ts';
import type { AnswerBanks } from './answer.ts';

// GET /banks without node:http and Express, for ordinary requests while there is a list to serve.
// It skips nothing else: the response, the headers and the log line come from the same functions.
// A table of tests compares the bytes of both paths.

interface HotPathOptions {
  readonly list: Pick<BankList, 'served'>;
  readonly answerBanks: AnswerBanks;
  readonly requestLog: RequestLog;
  readonly commonHeaders: CommonHeaders;
  readonly logger: Logger;
}

export const createHotPath = (options: HotPathOptions): HotPath => {
  const { list, answerBanks, commonHeaders, requestLog, logger } = options;
  return {
    path: '/banks',
    headers: [
      'origin',
      'accept-encoding',
      'if-match',
      'if-none-match',
      'if-modified-since',
      'if-unmodified-since',
      'x-request-id',
      'x-forwarded-for',
      'traceparent',
    ],
    respond: (request) => {
      const served = list.served();
      if (!served) return undefined;
      const answer = answerBanks(request.headers, served);
      if (answer === 'precondition_failed') return undefined;
      const { status, headers, body, listState } = answer;
      const { requestId, end } = requestLog.begin(request, listState, status, body.length);
      const common = commonHeaders(request.headers.origin);
      return { status, common, headers, body, requestId, end };
    },
    onError: (error) => logger.error({ err: error }, 'unexpected error on the hot path'),
  };
};
