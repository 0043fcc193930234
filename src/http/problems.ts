import type { ServerResponse } from 'node:http';
import type { LoadErrorKind } from '../banks/load-error.ts';

// Every error answer of the service: a closed table of codes, sent as problem+json (RFC 9457). Nothing in an answer
// comes from an error object, the provider or the request.

const PROBLEMS = {
  bad_request: {
    status: 400,
    title: 'Bad request',
    detail: 'The request is not well-formed HTTP.',
  },
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    detail: 'This operation needs the bearer token that MANAGEMENT_TOKEN configures.',
  },
  refresh_disabled: {
    status: 403,
    title: 'Refresh is off',
    detail: 'No token authorises this operation; set MANAGEMENT_TOKEN or MANAGEMENT_TOKEN_FILE.',
  },
  cross_origin: {
    status: 403,
    title: 'Cross-origin request',
    detail: 'A page of another origin may not use this operation.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    detail: 'There is nothing at this path. The list is at /banks.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'This resource does not support the method; the Allow header lists those that it does.',
  },
  request_timeout: {
    status: 408,
    title: 'Request timeout',
    detail: 'The request did not arrive completely in the time that the service gives it.',
  },
  precondition_failed: {
    status: 412,
    title: 'Precondition failed',
    detail: 'The list is not, or no longer, the one that If-Match or If-Unmodified-Since asks for.',
  },
  payload_too_large: {
    status: 413,
    title: 'Content too large',
    detail: 'The request carries more than this service reads; it needs no content at all.',
  },
  uri_too_long: {
    status: 414,
    title: 'URI too long',
    detail: 'The request target is longer than 8,000 bytes.',
  },
  expectation_failed: {
    status: 417,
    title: 'Expectation failed',
    detail: 'The only expectation that this service knows is 100-continue.',
  },
  host_not_allowed: {
    status: 421,
    title: 'Host not allowed',
    detail:
      'This port answers to IP addresses, localhost, names without a dot and the names in MANAGEMENT_HOSTS only.',
  },
  too_many_attempts: {
    status: 429,
    title: 'Too many attempts',
    detail: 'Too many wrong tokens came from this address; try again after the time in Retry-After.',
  },
  headers_too_large: {
    status: 431,
    title: 'Request headers too large',
    detail: 'The header section has more than 16 KiB or more than 100 headers.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail: 'An unexpected error occurred in the service.',
  },
  provider_invalid_answer: {
    status: 502,
    title: 'The provider gave no usable answer',
    detail:
      'The banking provider answered, but not with a list of banks that can be served. There is no earlier list to serve.',
  },
  refresh_failed: {
    status: 502,
    title: 'The list was not renewed',
    detail: 'The list that was served before is still served.',
  },
  provider_unavailable: {
    status: 503,
    title: 'The provider is unavailable',
    detail:
      'The banking provider cannot be reached or refuses to answer now, and there is no earlier list to serve.',
  },
  not_ready: {
    status: 503,
    title: 'Not ready',
    detail: 'There is no list that may be served yet.',
  },
  too_many_connections: {
    status: 503,
    title: 'Too many connections',
    detail: 'The service has as many connections as it takes; try again in a moment.',
  },
  draining: {
    status: 503,
    title: 'Draining',
    detail: 'The service is shutting down; send new requests elsewhere.',
  },
  provider_timeout: {
    status: 504,
    title: 'The provider did not answer in time',
    detail: 'The banking provider gave no complete answer in time, and there is no earlier list to serve.',
  },
} as const satisfies Record<string, { status: number; title: string; detail: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** The answer when the load failed and there is no list to serve. */
export const PROBLEM_OF_LOAD_ERROR = {
  unreachable: 'provider_unavailable',
  proxy_unreachable: 'provider_unavailable',
  proxy_refused: 'provider_unavailable',
  rate_limited: 'provider_unavailable',
  unavailable: 'provider_unavailable',
  timeout: 'provider_timeout',
  unauthorized: 'provider_invalid_answer',
  no_token: 'provider_invalid_answer',
  unexpected_status: 'provider_invalid_answer',
  malformed: 'provider_invalid_answer',
  not_a_list: 'provider_invalid_answer',
  too_large: 'provider_invalid_answer',
  too_few: 'provider_invalid_answer',
  unusable_entries: 'provider_invalid_answer',
  missing_field: 'provider_invalid_answer',
  shrunk: 'provider_invalid_answer',
  drifted: 'provider_invalid_answer',
  internal: 'internal_error',
} as const satisfies Record<LoadErrorKind, ProblemCode>;

/** The problem as clients read it. `more`: extension members (RFC 9457 section 3.2), or a more specific `detail`. */
export const problemOf = (code: ProblemCode, more: ProblemMembers = {}) => ({
  type: `urn:problem-type:banks-bff:${code.replaceAll('_', '-')}`,
  ...PROBLEMS[code],
  code,
  ...more,
});

type ProblemMembers = Readonly<Record<string, string>>;

/** What only the management port answers. */
const MANAGEMENT_PROBLEM_CODES: readonly string[] = [
  'unauthorized',
  'refresh_disabled',
  'cross_origin',
  'host_not_allowed',
  'too_many_attempts',
  'refresh_failed',
] satisfies ProblemCode[];

export const PUBLIC_PROBLEM_CODES: readonly ProblemCode[] = Object.keys(PROBLEMS).filter(
  (code): code is ProblemCode => code in PROBLEMS && !MANAGEMENT_PROBLEM_CODES.includes(code),
);

/** The whole answer, with the headers as `writeHead` takes them. */
export const problemAnswer = (code: ProblemCode, more?: ProblemMembers) => {
  const body = JSON.stringify(problemOf(code, more));
  const headers = [
    'Content-Type',
    'application/problem+json',
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Cache-Control',
    'no-store',
  ];
  return { status: PROBLEMS[code].status, headers, body };
};

/** Answers with the problem `code` and ends the response. Headers set on `res` before, such as `Allow`, are kept. */
export const sendProblem = (res: ServerResponse, code: ProblemCode, more?: ProblemMembers): void => {
  const { status, headers, body } = problemAnswer(code, more);
  res.writeHead(status, headers).end(body);
};
