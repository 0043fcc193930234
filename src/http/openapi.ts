import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../banks/bank-list.ts';
import type { HeldList } from '../banks/cached-list.ts';
import { countFilled, JSON_TYPES, type JsonType, type ListProfile } from '../banks/reading/profile.ts';
import type { Config } from '../config/config.ts';
import { sendJsonText } from './health.ts';
import template from './openapi.json' with { type: 'json' };
import { PROBLEM_OF_LOAD_ERROR, problemOf, PUBLIC_PROBLEM_CODES, type ProblemCode } from './problems.ts';

// The public port described in OpenAPI 3.1: openapi.json, in which what depends on the running service stands in braces, and
// the problems from their table.

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

/** The document as an object. `observed`: the fields of the served list; undefined before the first one. */
export const createOpenApi = ({
  version,
  fields,
  observed,
}: OpenApiOptions & { readonly observed: readonly ObservedField[] | undefined }): unknown => {
  const values = new Map<unknown, unknown>([
    ['{version}', version],
    ['{bank schema}', bankSchema(fields, observed)],
    ['{example bank}', exampleBank(fields, observed)],
    ['{problem codes}', PUBLIC_PROBLEM_CODES],
    ['{problems}', PUBLIC_PROBLEM_CODES.map((code) => problemOf(code))],
  ]);
  // What is put in is not searched again, so a field may have any name.
  return JSON.parse(TEMPLATE, (_key, value: unknown) => (values.has(value) ? values.get(value) : value));
};

/**
 * What the configuration promises of a bank, and the JSON types that the cached list has. The guard refuses a list that
 * differs in more than GUARD_MAX_DRIFT of its entries.
 */
const bankSchema = (fields: OpenApiOptions['fields'], observed: readonly ObservedField[] = []): object => {
  const shown = fields ?? observed.map(({ name }) => ({ name, isOptional: false }));
  const typesOf = ({ name, isOptional }: (typeof shown)[number]): object => {
    const { types = [], isNullable } = observed.find((field) => field.name === name) ?? {};
    // Any entry may lack an optional field, also where none does today.
    const all = types.length > 0 && (isNullable || isOptional) ? [...types, 'null'] : types;
    if (all.length === 0) return {};
    return { type: all.length === 1 ? all[0] : all };
  };
  return {
    type: 'object',
    description: fields
      ? 'A field that the provider did not send is null.'
      : 'Every field that the provider sends; those of the current list are named.',
    properties: Object.fromEntries(shown.map((field) => [field.name, typesOf(field)])),
    required: (fields ?? observed.filter(({ isNullable }) => !isNullable)).map(({ name }) => name),
    additionalProperties: fields === undefined,
  };
};

/** A bank that has the schema's fields and types. */
const exampleBank = (
  fields: OpenApiOptions['fields'],
  observed: readonly ObservedField[] | undefined,
): object => {
  const shown = fields ?? observed?.map(({ name }) => ({ name, from: name }));
  if (!shown) return KNOWN_BANK;
  return Object.fromEntries(
    shown.map(({ name, from }) => {
      const type = observed?.find((field) => field.name === name)?.types[0];
      const known = type === undefined || type === 'string' ? KNOWN_BANK[from] : undefined;
      return [name, known ?? (type ? EXAMPLES[type] : null)];
    }),
  );
};

const KNOWN_BANK: Readonly<Record<string, string>> = {
  code: '001',
  ispb: '00000000',
  name: 'BCO DO BRASIL S.A.',
};

const EXAMPLES: Readonly<Record<JsonType, unknown>> = {
  string: 'text',
  number: 1,
  boolean: true,
  object: {},
  array: [],
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

const PROBLEMS_WITH_RETRY_AFTER: readonly ProblemCode[] = [
  ...Object.values(PROBLEM_OF_LOAD_ERROR),
  'too_many_connections',
];

const { get: banks } = template.paths['/banks'];
const { get: health } = template.paths['/healthz'];
const { get: readiness } = template.paths['/readyz'];
const COMMON_HEADERS = { 'X-Request-Id': banks.responses[200].headers['X-Request-Id'] };
const RETRY_HEADER = {
  'Retry-After': {
    description: 'After how many seconds to try again',
    schema: { type: 'integer', minimum: 1 },
  },
};

/** One response for each status, with every problem that has it as an example. `retried`: those with `Retry-After`. */
const problemResponses = (own: readonly ProblemCode[], retried: readonly ProblemCode[] = []): object => {
  const problems = [...new Set([...COMMON_PROBLEMS, ...own, ...retried])].map((code) => problemOf(code));
  const retriedStatuses = new Set(retried.map((code) => problemOf(code).status));
  return Object.fromEntries(
    problems.map(({ status }) => {
      const same = problems.filter((problem) => problem.status === status);
      const response = {
        description: same.map(({ title }) => title).join('; '),
        headers: retriedStatuses.has(status) ? { ...COMMON_HEADERS, ...RETRY_HEADER } : COMMON_HEADERS,
        content: {
          'application/problem+json': {
            schema: { $ref: '#/components/schemas/Problem' },
            examples: Object.fromEntries(same.map((value) => [value.code, { summary: value.title, value }])),
          },
        },
      };
      return [status, response];
    }),
  );
};

const withProblems = (
  get: { readonly responses: object },
  ...problems: Parameters<typeof problemResponses>
) => ({
  get: { ...get, responses: { ...get.responses, ...problemResponses(...problems) } },
});

const TEMPLATE = JSON.stringify({
  ...template,
  paths: {
    '/banks': withProblems(banks, ['precondition_failed'], PROBLEMS_WITH_RETRY_AFTER),
    '/healthz': withProblems(health, []),
    '/readyz': withProblems(readiness, ['not_ready', 'draining']),
  },
});

/** What frontends can rely on, as long as the guard keeps it. */
interface ObservedField {
  readonly name: string;
  /** The JSON types that its values have, in the order of {@link JSON_TYPES}; none where no entry has it. */
  readonly types: readonly JsonType[];
  /** Some entries lack it: it is null there, or absent where BANK_FIELDS is unset. */
  readonly isNullable: boolean;
}

/** The published fields of a list, in the order in which they were first seen. */
export const observeFields = (list: {
  readonly profile: ListProfile;
  readonly count: number;
}): ObservedField[] =>
  [...list.profile].map(([name, field]) => ({
    name,
    types: JSON_TYPES.filter(
      (type) => field.filled[type] > 0 || (type === 'string' && field.emptyStrings > 0),
    ),
    isNullable: countFilled(field) + field.emptyStrings < list.count,
  }));
