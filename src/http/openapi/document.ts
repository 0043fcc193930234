import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../../banks/bank-list.ts';
import type { HeldList } from '../../banks/cached-list.ts';
import { observeFields, type ObservedField } from '../../banks/reading/profile.ts';
import type { Config } from '../../config/config.ts';
import { HEALTH_EXAMPLE, HEALTH_SCHEMA, sendJsonText } from '../health.ts';
import { PROBLEM_OF_LOAD_ERROR, type ProblemCode } from '../problems.ts';
import { bankSchema, exampleBank } from './bank-schema.ts';
import {
  COMMON_HEADERS,
  LIST_HEADERS,
  MODIFIED_HEADER,
  okResponse,
  parameter,
  PROBLEM_SCHEMA,
  problemResponses,
} from './responses.ts';

// The public port described in OpenAPI 3.1, from what the code itself goes by: the configured fields and their observed
// types, the table of problems, the shape of the health answer.

export interface OpenApiOptions {
  readonly version: string;
  readonly fields: Config['banks']['fields'];
}

/** `GET /openapi.json`, made anew for each new list. */
export const createOpenApiRoute = ({ list, ...options }: OpenApiOptions & { readonly list: BankList }) => {
  let newest: { readonly held: HeldList | undefined; readonly text: string } | undefined;
  return (_req: IncomingMessage, res: ServerResponse): void => {
    const { held } = list.status();
    if (!newest || newest.held !== held) {
      const observed = held && observeFields(held);
      newest = { held, text: JSON.stringify(createOpenApi({ ...options, observed })) };
    }
    sendJsonText(res, newest.text);
  };
};

/** `observed`: undefined before the first list. */
export const createOpenApi = ({
  version,
  fields,
  observed,
}: OpenApiOptions & { readonly observed: readonly ObservedField[] | undefined }) => ({
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
    '/banks': banksPath(fields, observed),
    ...probePaths(version),
  },
  components: {
    schemas: {
      Bank: bankSchema(fields, observed),
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

/** `GET /banks`. */
const banksPath = (fields: OpenApiOptions['fields'], observed: readonly ObservedField[] | undefined) => ({
  get: {
    operationId: 'listBanks',
    tags: ['banks'],
    summary: 'All banks',
    description:
      "The banks in the provider's order. The answer is the same for everybody, may be cached, and is sent in " +
      'the content encoding that the client prefers. A query string has no effect.',
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
            examples: {
              oneBank: { summary: 'A list of one bank', value: [exampleBank(fields, observed)] },
            },
          },
        },
      },
      304: {
        description: 'The client holds the current list',
        headers: { ...COMMON_HEADERS, ...LIST_HEADERS },
      },
      ...problemResponses(['precondition_failed'], [...LOAD_PROBLEMS, 'too_many_connections']),
    },
  },
});

/** The probes of orchestrators and load balancers. */
const probePaths = (version: string) => ({
  '/healthz': {
    get: {
      operationId: 'getHealth',
      tags: ['operation'],
      summary: 'Alive?',
      description: '200 whenever the process can answer, whatever the provider does.',
      responses: {
        200: okResponse('Health', {
          fresh: { summary: 'The list is fresh', value: { ...HEALTH_EXAMPLE, version } },
        }),
        ...problemResponses([]),
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
        200: okResponse('Readiness', {
          ready: { summary: 'A list can be served', value: { status: 'ready' } },
        }),
        ...problemResponses(['not_ready', 'draining']),
      },
    },
  },
});

const LOAD_PROBLEMS: readonly ProblemCode[] = [...new Set(Object.values(PROBLEM_OF_LOAD_ERROR))];
