import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { BankList } from '../banks/bank-list.ts';
import { hasUnwantedBody, refusalOf } from './admission.ts';
import { createNegotiate } from './content-coding.ts';
import type { Cors, FlatFields } from './cors.ts';
import { evaluatePreconditions } from './preconditions.ts';
import { mapCodings, type PerCoding, type PrepareAnswers, type PreparedAnswer } from './prepared-answers.ts';
import type { RequestLog } from './request-log.ts';

// GET and HEAD /banks without Express, for the ordinary request: a list is held, nothing about the request is to be
// refused, and the connection is to stay. It skips routing and one `setHeader` per field, and nothing else: who is
// admitted, the coding, the conditions, the fields and the log line come from the same functions as in Express's way,
// which takes every other request. A table of tests holds the two ways to the same bytes.

export interface HotPathOptions {
  readonly list: BankList;
  readonly prepareAnswers: PrepareAnswers;
  readonly cors: Cors;
  readonly securityFields: FlatFields;
  readonly requestLog: RequestLog;
  readonly isInExcess: (socket: Socket) => boolean;
  readonly isDraining: () => boolean;
}

/** Answers what is ordinary and hands `otherwise` the rest, untouched. */
export const createHotPath = (options: HotPathOptions, otherwise: RequestListener): RequestListener => {
  const { list, prepareAnswers, cors, requestLog } = options;
  const negotiate = createNegotiate();
  const complete = createComplete(options.securityFields);

  const answer = (req: IncomingMessage, res: ServerResponse): boolean => {
    if (!isForBanks(req) || options.isDraining() || options.isInExcess(req.socket)) return false;
    if (hasUnwantedBody(req) || refusalOf(req)) return false;
    const served = list.served();
    if (!served) return false;
    const { headers } = req;
    const answers = complete(prepareAnswers(served), cors.fields(headers.origin));
    const { body, validators, ok, notModified } =
      answers[negotiate(headers['accept-encoding'])] ?? answers.identity;
    const verdict = evaluatePreconditions(headers, validators);
    if (verdict === 'precondition_failed') return false;

    const requestId = requestLog.identify(req);
    if (verdict === 'not_modified') {
      requestLog.watch(req, res, requestId, 0);
      res.writeHead(304, withRequestId(notModified, requestId)).end();
    } else {
      requestLog.watch(req, res, requestId, body.length);
      res.writeHead(200, withRequestId(ok, requestId)).end(body);
    }
    return true;
  };

  return (req, res) => {
    if (!answer(req, res)) otherwise(req, res);
  };
};

const isForBanks = ({ method, url = '' }: IncomingMessage): boolean =>
  (url === '/banks' || url.startsWith('/banks?')) && (method === 'GET' || method === 'HEAD');

/** Answers with all their fields, but for the request's identifier, which goes into the second place. */
interface WholeAnswer extends Pick<PreparedAnswer, 'body' | 'validators'> {
  readonly ok: string[];
  readonly notModified: string[];
}

/** `writeHead` has read the array when it returns, so that the next request may have it: no copy of 30 entries. */
const withRequestId = (fields: string[], requestId: string): string[] => {
  fields[1] = requestId;
  return fields;
};

/** Joins prepared answers with what depends on the origin and what never changes, once for each pair. */
const createComplete = (securityFields: FlatFields) => {
  let newest: PerCoding<PreparedAnswer> | undefined;
  const joined = new Map<FlatFields, PerCoding<WholeAnswer>>();

  return (prepared: PerCoding<PreparedAnswer>, corsFields: FlatFields): PerCoding<WholeAnswer> => {
    if (newest !== prepared) {
      newest = prepared;
      joined.clear();
    }
    let answers = joined.get(corsFields);
    if (!answers) {
      const common = ['X-Request-Id', '', ...securityFields, ...corsFields];
      answers = mapCodings(prepared, ({ body, validators, fields, notModifiedFields }) => ({
        body,
        validators,
        ok: [...common, ...fields],
        notModified: [...common, ...notModifiedFields],
      }));
      joined.set(corsFields, answers);
    }
    return answers;
  };
};
