import type { Behaviour } from '../../emulator/behaviours.ts';

// What a service without a list answers while the provider fails: on a clock moved by hand, and in real time.

export type FailureRow = readonly [behaviour: Behaviour, status: number, code: string, kind: string];

export const AT_ONCE: readonly FailureRow[] = [
  ['refuse', 503, 'provider_unavailable', 'unreachable'],
  ['reset', 503, 'provider_unavailable', 'unreachable'],
  ['rate-limited', 503, 'provider_unavailable', 'rate_limited'],
  ['server-error', 503, 'provider_unavailable', 'unavailable'],
  ['unavailable', 503, 'provider_unavailable', 'unavailable'],
  ['unauthorized', 502, 'provider_invalid_answer', 'unauthorized'],
  ['forbidden', 502, 'provider_invalid_answer', 'unexpected_status'],
  ['not-found', 502, 'provider_invalid_answer', 'unexpected_status'],
  ['bad-request', 502, 'provider_invalid_answer', 'unexpected_status'],
  ['redirect', 502, 'provider_invalid_answer', 'unexpected_status'],
  ['no-content', 502, 'provider_invalid_answer', 'unexpected_status'],
  ['html', 502, 'provider_invalid_answer', 'malformed'],
  ['html-as-json', 502, 'provider_invalid_answer', 'malformed'],
  ['wrong-type', 502, 'provider_invalid_answer', 'malformed'],
  ['not-json', 502, 'provider_invalid_answer', 'malformed'],
  ['not-utf8', 502, 'provider_invalid_answer', 'malformed'],
  ['cut-short', 502, 'provider_invalid_answer', 'malformed'],
  ['too-deep', 502, 'provider_invalid_answer', 'malformed'],
  ['envelope', 502, 'provider_invalid_answer', 'not_a_list'],
  ['null', 502, 'provider_invalid_answer', 'not_a_list'],
  ['empty', 502, 'provider_invalid_answer', 'too_few'],
  ['most-unusable', 502, 'provider_invalid_answer', 'unusable_entries'],
  ['too-large', 502, 'provider_invalid_answer', 'too_large'],
  ['gzip-bomb', 502, 'provider_invalid_answer', 'too_large'],
  ['brotli-bomb', 502, 'provider_invalid_answer', 'too_large'],
];
export const AT_THE_DEADLINE: readonly FailureRow[] = [
  ['hang', 504, 'provider_timeout', 'timeout'],
  ['stall', 504, 'provider_timeout', 'timeout'],
  ['drip', 504, 'provider_timeout', 'timeout'],
];
