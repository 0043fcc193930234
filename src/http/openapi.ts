import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../banks/bank-list.ts';
import type { CachedList } from '../banks/cached-list.ts';
import { JSON_TYPES, type FieldProfile } from '../banks/reading/profile.ts';
import type { Config } from '../config/config.ts';
import { JSON_TYPE, sendUncached } from './headers.ts';
import template from './openapi.json' with { type: 'json' };
import { problemOf, PUBLIC_PROBLEM_CODES, type ProblemCode } from './problem-details.ts';

// The public port described in OpenAPI 3.1: openapi.json, in which names in braces stand for what
// depends on the running service, and for the responses that are problems.

interface OpenApiOptions {
  readonly version: string;
  readonly fields: Config['banks']['fields'];
}

/** `GET /openapi.json`, made again for each new list. */
export const createOpenApiRoute = ({
  list,
  ...options
}: OpenApiOptions & { readonly list: Pick<BankList, 'served'> }) => {
  let newest: { readonly cached: CachedList | undefined; readonly body: Buffer } | undefined;
  return (_req: IncomingMessage, res: ServerResponse): void => {
    const cached = list.served()?.list;
    // As bytes, which all clients share that do not read them.
    if (!newest || newest.cached !== cached)
      newest = { cached, body: Buffer.from(JSON.stringify(createOpenApi(options, cached))) };
    sendUncached(res, JSON_TYPE, newest.body);
  };
};

/** What is said of the list that is served: only once there is one. */
type DescribedList = Pick<CachedList, 'profile' | 'count'> & {
  readonly representations: { readonly identity: { readonly body: Buffer } };
};

const { 'Last-Modified': _, ...HEADERS_OF_304 } =
  template.paths['/banks'].get.responses['200'].headers;

/** The document as an object. */
export const createOpenApi = (
  { version, fields }: OpenApiOptions,
  list: DescribedList | undefined,
): unknown => {
  const values = new Map<unknown, unknown>([
    ['{version}', version],
    ['{bank schema}', bankSchema(fields, list)],
    ['{example bank}', exampleBank(fields, list)],
    ['{problem codes}', PUBLIC_PROBLEM_CODES],
    ['{problems}', PUBLIC_PROBLEM_CODES.map((code) => problemOf(code))],
    ['{headers of 200 without Last-Modified}', HEADERS_OF_304],
    ['{response not_ready draining}', responseOf(['not_ready', 'draining'])],
    ...PUBLIC_PROBLEM_CODES.flatMap((code) => [
      [`{response ${code}}`, responseOf([code])] as const,
      [`{retriable ${code}}`, responseOf([code], 'Retry-After')] as const,
    ]),
  ]);
  // What is put in is not searched again, so a field may have any name.
  return JSON.parse(JSON.stringify(template), (_key, value: unknown) =>
    values.has(value) ? values.get(value) : value,
  );
};

/** The response that is one of these problems. */
const responseOf = (codes: readonly ProblemCode[], ...headers: readonly string[]) => {
  const problems = codes.map((code) => problemOf(code));
  const referTo = (name: string) => [name, { $ref: `#/components/headers/${name}` }] as const;
  const exampleOf = (problem: (typeof problems)[number]) =>
    [problem.code, { summary: problem.title, value: problem }] as const;
  return {
    description: problems.map(({ title }) => title).join('; '),
    headers: Object.fromEntries(['X-Request-Id', ...headers].map(referTo)),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(problems.map(exampleOf)),
      },
    },
  };
};

/**
 * What the configuration promises of a bank, and the JSON types that the cached list has. The guard
 * refuses a list that differs in more than GUARD_MAX_DRIFT of its entries.
 */
const bankSchema = (
  fields: OpenApiOptions['fields'],
  { profile, count }: Pick<DescribedList, 'profile' | 'count'> = { profile: new Map(), count: 0 },
): object => {
  const shown = fields ?? [...profile.keys()].map((name) => ({ name, isOptional: false }));
  const isNullIn = (field: FieldProfile | undefined): boolean =>
    field !== undefined && field.present < count;
  const typesOf = ({ name, isOptional }: (typeof shown)[number]): object => {
    const field = profile.get(name);
    const types = JSON_TYPES.filter((type) => field?.types.has(type));
    if (types.length === 0) return {};
    // Any entry may lack an optional field, even if none does today.
    const all = isOptional || isNullIn(field) ? [...types, 'null'] : types;
    return { type: all.length === 1 ? all[0] : all };
  };
  return {
    type: 'object',
    description: fields
      ? 'The types are those of the list that is served now; while there is none, any. A field that the provider did not send is null.'
      : 'Every field that the provider sends; those of the list that is served now are named.',
    properties: Object.fromEntries(shown.map((field) => [field.name, typesOf(field)])),
    // Without BANK_FIELDS an entry may be without a field that others have.
    required: shown
      .map(({ name }) => name)
      .filter((name) => fields || !isNullIn(profile.get(name))),
    additionalProperties: fields === undefined,
  };
};

const exampleBank = (
  fields: OpenApiOptions['fields'] = [],
  list: DescribedList | undefined,
): unknown => {
  const banks: unknown = list && JSON.parse(list.representations.identity.body.toString());
  const nulls = Object.fromEntries(fields.map(({ name }) => [name, null]));
  // The list may be empty, with GUARD_MIN_BANKS=0.
  return (Array.isArray(banks) ? banks[0] : undefined) ?? nulls;
};
