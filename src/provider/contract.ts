import type { LoadedList, Validators } from '../banks/cached-list.ts';
import { MAX_DEPTH } from '../banks/reading/entry-groups.ts';
import { readList, type ListContract, type ReadOptions } from '../banks/reading/list-reader.ts';
import { LoadError } from '../banks/load-error.ts';
import type { ProviderAnswer } from './exchange.ts';
import { parseHttpDate } from '../http-date.ts';

// What the provider's answers mean: an answer in; checked, narrowed banks out, or a LoadError that says why not. No
// network, no time. All that is assumed of an entry is that it is a JSON object; only published fields get through.

/** What was asked, as far as the answer's meaning depends on it. */
export interface ListRequest extends ReadOptions {
  /** What the request was conditional on, if anything. */
  readonly known: Validators | undefined;
  /** Wall-clock milliseconds, against which a dated `Retry-After` is read. */
  readonly nowMs: number;
}

/**
 * Judges an answer of `GET /api/v1/banks`.
 * @throws {LoadError} when it is neither a list nor a 304 to the question
 */
export const processBanksAnswer = async (
  answer: ProviderAnswer,
  contract: ListContract,
  { known, nowMs, ...reading }: ListRequest,
): Promise<LoadedList | 'not_modified'> => {
  if (answer.status === 304) {
    assertNotModified(answer.validators, known);
    return 'not_modified';
  }
  assertSuccess(answer, nowMs);
  assertJsonType(answer.contentType);
  return { ...(await readList(answer.body, contract, reading)), validators: answer.validators };
};

/**
 * A 304 names the version that the client has, if it names one (RFC 9110 section 15.4.5). One that names another, or
 * that answers a request without a condition, says nothing about the cached list.
 */
const assertNotModified = (named: Validators | undefined, known: Validators | undefined): void => {
  if (!known)
    throw new LoadError(
      'unexpected_status',
      'the provider says that nothing changed (304), but was not asked that',
      { upstreamStatus: 304 },
    );
  const isSame =
    named?.etag !== undefined && known.etag !== undefined
      ? opaqueTag(named.etag) === opaqueTag(known.etag)
      : (named?.lastModified ?? known.lastModified) === known.lastModified ||
        known.lastModified === undefined;
  if (!isSame)
    throw new LoadError(
      'malformed',
      'the provider says that nothing changed (304), but names another version than it was asked about',
      { upstreamStatus: 304 },
    );
};

/** An entity tag for the weak comparison (RFC 9110 section 8.8.3.2). */
const opaqueTag = (etag: string): string => etag.replace(/^W\//, '');

const assertSuccess = ({ status, retryAfter }: ProviderAnswer, nowMs: number): void => {
  if (status === 200) return;
  const upstreamStatus = status;
  if (status === 401)
    throw new LoadError('unauthorized', 'the provider does not accept the token (401)', { upstreamStatus });
  const retryAfterMs = parseRetryAfter(retryAfter, nowMs);
  if (status === 429)
    throw new LoadError('rate_limited', 'the provider limits the rate (429)', {
      retryAfterMs,
      upstreamStatus,
    });
  if (status >= 500)
    throw new LoadError('unavailable', `the provider fails (${status})`, { retryAfterMs, upstreamStatus });
  throw new LoadError('unexpected_status', `the provider answers with status ${status} instead of 200`, {
    upstreamStatus,
  });
};

/** `Retry-After` as milliseconds from now: delay-seconds or an HTTP-date (RFC 9110 section 10.2.3); junk is no value. */
export const parseRetryAfter = (value: string | undefined, nowMs: number): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1_000;
  const dateMs = parseHttpDate(value);
  return dateMs === undefined ? undefined : Math.max(0, dateMs - nowMs);
};

/** A missing type is forgiven, since the parser has the last word; a wrong one is not: it names an error page. */
export const assertJsonType = (contentType: string | undefined): void => {
  const [type = '', ...parameters] = (contentType ?? 'application/json').toLowerCase().split(';');
  const charset = parameters.map((item) => item.trim()).find((item) => item.startsWith('charset='));
  if (!/^(application\/([\w.-]+\+)?json|text\/json)$/.test(type.trim())) {
    throw new LoadError('malformed', 'the answer is labelled as something other than JSON');
  }
  if (charset && !/^charset="?utf-?8"?$/.test(charset)) {
    throw new LoadError('malformed', 'the answer is labelled with a charset other than UTF-8');
  }
};

/**
 * JSON bytes that are not the list, as a value: a token endpoint's grant, or what the doctor looks at.
 * @throws {LoadError} `malformed`
 */
export const parseJson = (body: Buffer): unknown => {
  try {
    // Strict: an invalid sequence is an error. One leading BOM is dropped (RFC 8259 section 8.1).
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    assertShallow(body);
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof LoadError) throw error;
    // The parser's message quotes the text, so it goes no further.
    throw new LoadError('malformed', 'the answer is not JSON in UTF-8');
  }
};

/** Counts brackets outside strings in one pass, before the parser builds anything. All that matters here is ASCII. */
const assertShallow = (json: Buffer): void => {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index];
    if (inString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth += 1;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth -= 1;
    if (depth > MAX_DEPTH)
      throw new LoadError('malformed', `the answer is nested deeper than ${MAX_DEPTH} levels`);
  }
};

const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('"\\[]{}');
