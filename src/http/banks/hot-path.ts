import type { CommonHeaders } from '../common-headers.ts';
import type { HotPath } from '../../http-front/index.ts';
import type { BankList } from '../../banks/bank-list.ts';
import type { RequestLog } from '../request-log.ts';
import type { ChooseResponse } from './responses.ts';

// GET /banks without node:http and Express, for ordinary requests while there is a list to serve.
// It skips nothing else: the encoding, the conditions, the headers and the log line come from the
// same functions. A table of tests compares the bytes of both paths.

interface HotPathOptions {
  readonly list: Pick<BankList, 'served'>;
  readonly chooseResponse: ChooseResponse;
  readonly requestLog: RequestLog;
  readonly commonHeaders: CommonHeaders;
  readonly isDraining: () => boolean;
}

export const createHotPath = ({
  list,
  chooseResponse,
  commonHeaders,
  requestLog,
  isDraining,
}: HotPathOptions): HotPath => ({
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
    // A drain ends connections with their next response: Express sends `Connection: close`.
    if (!served || isDraining()) return undefined;
    const { headers } = request;
    const { response, status } = chooseResponse(headers, served);
    if (status === 412) return undefined;
    const is200 = status === 200;
    const body = is200 ? response.body : NO_BODY;
    const { requestId, end } = requestLog.begin(request, response.listState, status, body.length);
    return {
      status,
      common: commonHeaders(headers.origin),
      headers: is200 ? response.headers : response.notModifiedHeaders,
      body,
      requestId,
      end,
    };
  },
});

const NO_BODY = Buffer.alloc(0);
