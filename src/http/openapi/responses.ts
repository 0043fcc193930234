import { problemOf, PUBLIC_PROBLEM_CODES, type ProblemCode } from '../problems.ts';

// The responses and headers of the OpenAPI document.

export const parameter = (name: string, description: string) => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
});

const header = (description: string) => ({ description, schema: { type: 'string' } });

export const COMMON_HEADERS = { 'X-Request-Id': header("This request's identifier in the service's log") };
export const LIST_HEADERS = {
  ETag: header('A strong validator, different for each content encoding'),
  'Cache-Control': header('For how long the list may be used'),
  'Cache-Status': header("RFC 9211: the list's remaining freshness in seconds, negative when stale"),
  Vary: header('Accept-Encoding, and Origin where the answer depends on it'),
};
export const MODIFIED_HEADER = { 'Last-Modified': header('When this content was first seen') };
const RETRY_HEADER = {
  'Retry-After': {
    description: 'After how many seconds to try again',
    schema: { type: 'integer', minimum: 1 },
  },
};

/** What any request can be answered with, whatever it asks for. */
const COMMON_PROBLEMS: readonly ProblemCode[] = [
  'bad_request',
  'request_timeout',
  'payload_too_large',
  'uri_too_long',
  'expectation_failed',
  'headers_too_large',
  'internal_error',
];

/** One response for each status, with every problem that has it as an example. `retried`: those with `Retry-After`. */
export const problemResponses = (
  own: readonly ProblemCode[],
  retried: readonly ProblemCode[] = [],
): object => {
  const all = [...new Set([...COMMON_PROBLEMS, ...own, ...retried])].map((code) => problemOf(code));
  const retriedStatuses = new Set(retried.map((code) => problemOf(code).status));
  const responseOf = (status: (typeof all)[number]['status']) => {
    const problems = all.filter((problem) => problem.status === status);
    return {
      description: problems.map(({ title }) => title).join('; '),
      headers: { ...COMMON_HEADERS, ...(retriedStatuses.has(status) && RETRY_HEADER) },
      content: {
        'application/problem+json': {
          schema: { $ref: '#/components/schemas/Problem' },
          examples: Object.fromEntries(
            problems.map((value) => [value.code, { summary: value.title, value }]),
          ),
        },
      },
    };
  };
  return Object.fromEntries(all.map(({ status }) => [status, responseOf(status)]));
};

export const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'RFC 9457',
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: PUBLIC_PROBLEM_CODES },
  },
  required: ['type', 'title', 'status', 'detail', 'code'],
  additionalProperties: false,
  examples: PUBLIC_PROBLEM_CODES.map((code) => problemOf(code)),
};

/** The 200 of a resource that answers yes or no. */
export const okResponse = (
  schema: 'Health' | 'Readiness',
  examples: Readonly<Record<string, object>>,
): object => ({
  description: 'OK',
  headers: COMMON_HEADERS,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, examples } },
});
