import { MIMEType } from 'node:util';
import {
  readList,
  type ListContract,
  type LoadedList,
  type ReadOptions,
} from '../banks/reading/list-reader.ts';
import { LoadError } from '../banks/load-error.ts';
import type { Peer } from './connection-errors.ts';
import type { ProviderResponse } from './provider-response.ts';
import { parseHttpDate } from '../http-date.ts';

// Checks a response of the provider and reads the list in it; if there is none, a LoadError says
// why. Uses no network, and the clock only for the century of a date with a two-digit year. Of an
// entry, only that it is a JSON object is assumed; only published fields are passed on.

interface CheckOptions extends ReadOptions {
  /** Wall-clock milliseconds, for a dated `Retry-After` in a response without a `Date`. */
  readonly nowMs: number;
}

/**
 * Checks the response to `GET /api/v1/banks`, and reads the list in it.
 * @throws {LoadError} if it is not a list
 */
export const processBanksResponse = async (
  response: ProviderResponse,
  contract: ListContract,
  { nowMs, ...reading }: CheckOptions,
): Promise<LoadedList> => {
  if (response.status !== 200) throw toStatusError('the provider', response, nowMs);
  const problem = labelProblem(response.contentType);
  if (problem) throw new LoadError('malformed', `the response is labelled ${problem}`);
  const list = await readList(response.body, contract, reading);
  return { ...list, hasNextPage: namesNextPage(response.link) };
};

/**
 * Whether a `Link` header names a next page (RFC 8288 section 3). `next` may be one of several
 * relation types, with spaces between them; `next-archive` and `https://example.com/next` are
 * others.
 */
export const namesNextPage = (link = ''): boolean =>
  /;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next[\s"]|next\s*(?:[;,]|$))/i.test(link);

/**
 * The error for a response whose status says that it has no list, or no token.
 * @param nowMs wall-clock milliseconds
 */
export const toStatusError = (
  peer: Peer,
  { status, retryAfter, date }: Pick<ProviderResponse, 'status' | 'retryAfter' | 'date'>,
  nowMs: number,
): LoadError => {
  const retryAfterMs = parseRetryAfter(retryAfter, date, nowMs);
  const details = { retryAfterMs, upstreamStatus: status };
  if (status === 429)
    return new LoadError('rate_limited', `${peer} limits the rate (429)`, details);
  if (status >= 500) return new LoadError('unavailable', `${peer} fails (${status})`, details);
  return new LoadError(
    'unexpected_status',
    `${peer} responds with status ${status} instead of 200`,
    {
      upstreamStatus: status,
    },
  );
};

/**
 * `Retry-After` as milliseconds from now: delay-seconds or an HTTP-date (RFC 9110 section 10.2.3);
 * anything else is ignored. A date is by the sender's clock, as `date` is, so their difference is
 * right even if that clock is wrong.
 */
const parseRetryAfter = (
  value: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1_000;
  const untilMs = parseHttpDate(value);
  if (untilMs === undefined) return undefined;
  return Math.max(0, untilMs - (parseHttpDate(date ?? '') ?? nowMs));
};

/**
 * What is wrong with a `Content-Type`. A missing one is accepted, because the parser decides; a
 * type other than JSON usually belongs to an error page.
 */
export const labelProblem = (contentType = 'application/json'): string | undefined => {
  const type = parseMediaType(contentType);
  if (!type || !JSON_ESSENCE.test(type.essence)) return 'as something other than JSON';
  const charset = type.params.get('charset');
  return charset === null || /^utf-?8$/i.test(charset)
    ? undefined
    : 'with a charset other than UTF-8';
};

/** Includes every type with the suffix `+json` (RFC 6839 section 3.1). */
const JSON_ESSENCE = /^(?:application|text)\/json$|\/[a-z\d].*\+json$/;

/**
 * Node 20 calls MIMEType experimental, but it does the same there and in Node 26. Its time grows
 * with the square of the length, to a millisecond at this limit. The longest names have 255
 * characters together (RFC 6838 section 4.2).
 */
const parseMediaType = (text: string): MIMEType | undefined => {
  if (text.length > 1_024) return undefined;
  try {
    return new MIMEType(text);
  } catch {
    return undefined;
  }
};
