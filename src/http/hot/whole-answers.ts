import { mapEncodings, type PerEncoding, type PreparedAnswer } from '../banks/answers.ts';
import { toHead, type FlatHeaders } from '../headers.ts';
import { createSend, type Send } from './response.ts';

// Responses of /banks, complete except for the request id: prepared answers with the headers that depend on the origin, on the
// second, or on nothing.

/** What one encoding can be answered with. */
export interface WholeAnswer extends Pick<PreparedAnswer, 'body' | 'validators'> {
  readonly sendOk: Send;
  readonly sendNotModified: Send;
}

/** No header can contain it. */
const PLACE_OF_ID = '\0';

export interface WholeAnswersOptions {
  readonly securityHeaders: FlatHeaders;
  readonly keepAliveTimeoutMs: number;
}

/** Makes whole answers once for each combination of prepared answers, second and CORS headers. */
export const createWholeAnswers = ({ securityHeaders, keepAliveTimeoutMs }: WholeAnswersOptions) => {
  const keepAlive = `timeout=${Math.floor(keepAliveTimeoutMs / 1_000)}`;
  const newest = new Map<FlatHeaders, Made>();

  const make = ({ prepared, second }: Omit<Made, 'answers'>, corsHeaders: FlatHeaders) => {
    const first = ['X-Request-Id', PLACE_OF_ID, ...securityHeaders, ...corsHeaders];
    // The end of a head as node:http writes it for a connection that stays open, and for one that does not.
    const date = ['Date', new Date(second * 1_000).toUTCString()];
    const open = [...date, 'Connection', 'keep-alive', 'Keep-Alive', keepAlive];
    const closing = [...date, 'Connection', 'close'];
    const prepare = (status: number, headers: FlatHeaders, body: Buffer): Send => {
      const around = (end: FlatHeaders): string[] =>
        toHead(status, [...first, ...headers, ...end]).split(PLACE_OF_ID);
      const [beforeId = '', afterId = ''] = around(open);
      const [, afterIdLast = ''] = around(closing);
      return createSend({ beforeId, afterId, afterIdLast, body });
    };
    return mapEncodings(prepared, ({ body, validators, headers, notModifiedHeaders }) => ({
      body,
      validators,
      sendOk: prepare(200, headers, body),
      sendNotModified: prepare(304, notModifiedHeaders, NO_BODY),
    }));
  };

  return (prepared: PerEncoding<PreparedAnswer>, corsHeaders: FlatHeaders): PerEncoding<WholeAnswer> => {
    // Caches subtract the Date from their own clock, so it must be right whatever else has not changed.
    const second = Math.floor(Date.now() / 1_000);
    const known = newest.get(corsHeaders);
    if (known?.prepared === prepared && known.second === second) return known.answers;
    // An origin that is not seen again must not keep an old list in memory.
    for (const [headers, made] of newest) if (made.prepared !== prepared) newest.delete(headers);
    const answers = make({ prepared, second }, corsHeaders);
    newest.set(corsHeaders, { prepared, second, answers });
    return answers;
  };
};

const NO_BODY = Buffer.alloc(0);

/** Answers and what they were made from, besides the CORS headers. */
interface Made {
  readonly prepared: PerEncoding<PreparedAnswer>;
  readonly second: number;
  readonly answers: PerEncoding<WholeAnswer>;
}
