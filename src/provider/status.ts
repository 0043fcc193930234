import { LoadError } from '../banks/load-error.ts';
import { parseHttpDate } from '../http-date.ts';
import type { Peer } from './exchange-errors.ts';
import type { ExchangeResponse } from './exchange.ts';

/**
 * The error for a response whose status says that it has no list, or no token.
 * @param nowMs wall-clock milliseconds
 */
export const toStatusError = (
  peer: Peer,
  { status: upstreamStatus, headers }: ExchangeResponse,
  nowMs: number,
): LoadError => {
  // RFC 9110 section 10.2.3, RFC 6585 section 4.
  const retryAfterMs = [429, 503].includes(upstreamStatus)
    ? parseRetryAfter(headers['retry-after'], headers['date'], nowMs)
    : undefined;
  const details = { retryAfterMs, upstreamStatus };
  if (upstreamStatus === 429)
    return new LoadError('rate_limited', `${peer} limits the rate (429)`, details);
  if (upstreamStatus >= 500)
    return new LoadError('unavailable', `${peer} fails (${upstreamStatus})`, details);
  const text = `${peer} responds with status ${upstreamStatus} instead of 200`;
  return new LoadError('unexpected_status', text, details);
};

/**
 * `Retry-After` as milliseconds from now: delay-seconds or an HTTP-date; anything else is ignored.
 * A date is by the sender's clock, as `date` is, so their difference is right even if that clock is
 * wrong.
 */
const parseRetryAfter = (
  value = '',
  date: string | undefined,
  nowMs: number,
): number | undefined => {
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1_000;
  const untilMs = parseHttpDate(value);
  return untilMs && Math.max(0, untilMs - (parseHttpDate(date ?? '') ?? nowMs));
};
