import { LoadError } from '../banks/load-error.ts';
import { parseHttpDate } from '../http-date.ts';
import type { Peer } from './errors.ts';
import type { ExchangeResponse } from './exchange.ts';

/**
 * The error for a response whose status says that it has no list, or no token.
 * @param nowMs wall-clock milliseconds
 */
export const toStatusError = (
  peer: Peer,
  { status, headers }: Pick<ExchangeResponse, 'status' | 'headers'>,
  nowMs: number,
): LoadError => {
  const retryAfterMs = parseRetryAfter(headers['retry-after'], headers['date'], nowMs);
  const details = { retryAfterMs, upstreamStatus: status };
  if (status === 429)
    return new LoadError('rate_limited', `${peer} limits the rate (429)`, details);
  if (status >= 500) return new LoadError('unavailable', `${peer} fails (${status})`, details);
  const text = `${peer} responds with status ${status} instead of 200`;
  return new LoadError('unexpected_status', text, { upstreamStatus: status });
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
