import type { Config } from '../config/config.ts';
import { HEALTH_EXAMPLE, HEALTH_SCHEMA } from './health.ts';
import { PROBLEM_CODES, PROBLEM_OF_LOAD_ERROR, problemOf, type ProblemCode } from './problems.ts';

// The public listener described in OpenAPI 3.1, from what the code itself goes by: the configured fields, the table of
// problems, the shape of the health answer.

export interface OpenApiOptions {
  readonly version: string;
  readonly fields: Config['banks']['fields'];
}

export const createOpenApi = ({ version, fields }: OpenApiOptions) => ({
  openapi: '3.1.0',
  info: {
    title: 'banks-bff',
    version,
    description: 'The list of banks of a banking provider, for browsers.',
    license: { name: 'MIT', identifier: 'MIT' },
    contact: { name: 'The operators of this service' },
  },
  servers: [{ url: '/', description: 'Where this document came from' }],
  security: [],
  tags: [
    { name: 'banks', description: 'What the service is for' },
    { name: 'operation', description: 'What machines ask about its condition' },
  ],
  paths: {
    '/banks': {
      get: {
        operationId: 'listBanks',
        tags: ['banks'],
        summary: 'All banks',
        description:
          "The banks in the provider's order. The answer is the same for everybody, may be cached, and is sent in " +
          'the content coding that the client prefers. A query string has no effect.',
        parameters: [
          parameter('If-None-Match', 'Entity tags of lists that the client holds: 304 if one is current.'),
          parameter('If-Modified-Since', 'The same by date; without effect beside If-None-Match.'),
          parameter('X-Request-Id', 'Kept if it is well-formed: 1 to 128 of A-Z a-z 0-9 _ . : + / = -'),
        ],
        responses: {
          200: {
            description: 'The list',
            headers: { ...COMMON_HEADERS, ...LIST_HEADERS, ...MODIFIED_HEADER },
            content: {
              'application/json': {
                schema: { type: 'array', items: { $ref: '#/components/schemas/Bank' } },
                examples: { oneBank: { summary: 'A list of one bank', value: [exampleBank(fields)] } },
              },
            },
          },
          304: {
            description: 'The client holds the current list',
            headers: { ...COMMON_HEADERS, ...LIST_HEADERS },
          },
          ...problemResponses(['bad_request', 'precondition_failed', ...new Set(LOAD_PROBLEMS)]),
        },
      },
    },
    '/healthz': {
      get: {
        operationId: 'getHealth',
        tags: ['operation'],
        summary: 'Alive?',
        description: '200 whenever the process can answer, whatever the provider does.',
        responses: {
          200: itIs('Health', { fresh: { summary: 'A fresh list is held', value: healthExample(version) } }),
          ...problemResponses(['bad_request']),
        },
      },
    },
    '/readyz': {
      get: {
        operationId: 'getReadiness',
        tags: ['operation'],
        summary: 'Able to serve?',
        description: '200 while a list can be served and the service is not shutting down.',
        responses: {
          200: itIs('Readiness', { ready: { summary: 'A list can be served', value: { status: 'ready' } } }),
          ...problemResponses(['bad_request', 'not_ready', 'draining']),
        },
      },
    },
  },
  components: {
    schemas: {
      Bank: bankSchema(fields),
      Health: HEALTH_SCHEMA,
      Readiness: {
        type: 'object',
        properties: { status: { type: 'string', const: 'ready' } },
        required: ['status'],
      },
      Problem: PROBLEM_SCHEMA,
    },
  },
});

const parameter = (name: string, description: string) => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
});

const header = (description: string) => ({ description, schema: { type: 'string' } });

const COMMON_HEADERS = { 'X-Request-Id': header('Names this answer in the log of the service') };
const LIST_HEADERS = {
  ETag: header('A strong validator, different for each content coding'),
  'Cache-Control': header('For how long the list may be used'),
  'Cache-Status': header("RFC 9211: the list's remaining freshness in seconds, negative when stale"),
  Vary: header('Accept-Encoding, and Origin where the answer depends on it'),
};
const MODIFIED_HEADER = { 'Last-Modified': header('When this content was first seen') };

const LOAD_PROBLEMS: readonly ProblemCode[] = Object.values(PROBLEM_OF_LOAD_ERROR);

/** One response for each status, with every problem that has it as an example. */
const problemResponses = (codes: readonly ProblemCode[]) => {
  const statuses = new Set(codes.map((code) => problemOf(code).status));
  return Object.fromEntries(
    [...statuses].map((status) => {
      const problems = codes.map((code) => problemOf(code)).filter((problem) => problem.status === status);
      return [
        status,
        {
          description: problems.map(({ title }) => title).join('; '),
          headers: COMMON_HEADERS,
          content: {
            'application/problem+json': {
              schema: { $ref: '#/components/schemas/Problem' },
              examples: Object.fromEntries(
                problems.map((value) => [value.code, { summary: value.title, value }]),
              ),
            },
          },
        },
      ];
    }),
  );
};

const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'RFC 9457',
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: PROBLEM_CODES },
  },
  required: ['type', 'title', 'status', 'detail', 'code'],
  additionalProperties: false,
};

/** The names are this service's promise; the types are the provider's, and nothing is known of them. */
const bankSchema = (fields: Config['banks']['fields']) =>
  fields
    ? {
        type: 'object',
        description: 'A field that the provider did not send is null.',
        properties: Object.fromEntries(fields.map(({ name }) => [name, {}])),
        required: fields.map(({ name }) => name),
        additionalProperties: false,
      }
    : { type: 'object', description: 'Every field that the provider sends.', additionalProperties: true };

const KNOWN_BANK: Readonly<Record<string, string>> = {
  code: '001',
  ispb: '00000000',
  name: 'BCO DO BRASIL S.A.',
};

const exampleBank = (fields: Config['banks']['fields']) =>
  fields ? Object.fromEntries(fields.map(({ name, from }) => [name, KNOWN_BANK[from] ?? null])) : KNOWN_BANK;

/** The 200 of a resource that answers yes or no. */
const itIs = (schema: 'Health' | 'Readiness', examples: Readonly<Record<string, object>>): object => ({
  description: 'It is',
  headers: COMMON_HEADERS,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, examples } },
});

const healthExample = (version: string) => ({ ...HEALTH_EXAMPLE, version });
