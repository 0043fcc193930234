import { mapEncodings, type PerEncoding, type PreparedAnswer } from '../banks/answers.ts';
import { toHead, type FlatHeaders } from '../headers.ts';

// Responses of /banks, complete except for the request id: prepared answers with the headers that depend on the origin, on the
// second, or on nothing.

/** A body with the two heads with which it can be sent. */
export interface WholeAnswer extends Pick<PreparedAnswer, 'body' | 'validators'> {
  readonly ok: Head;
  readonly notModified: Head;
}

/** `isLast`: whether the connection ends with the response. */
type Head = (requestId: string, isLast: boolean) => string;

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
    const prepareHead = (status: number, headers: FlatHeaders): Head => {
      const around = (end: FlatHeaders): string[] =>
        toHead(status, [...first, ...headers, ...end]).split(PLACE_OF_ID);
      const [before = '', after = ''] = around(open);
      const [, afterLast = ''] = around(closing);
      return (requestId, isLast) => before + requestId + (isLast ? afterLast : after);
    };
    return mapEncodings(prepared, ({ body, validators, headers, notModifiedHeaders }) => ({
      body,
      validators,
      ok: prepareHead(200, headers),
      notModified: prepareHead(304, notModifiedHeaders),
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

/** Answers and what they were made from, besides the CORS headers. */
interface Made {
  readonly prepared: PerEncoding<PreparedAnswer>;
  readonly second: number;
  readonly answers: PerEncoding<WholeAnswer>;
}
