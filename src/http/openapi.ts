import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BankList } from '../banks/bank-list.ts';
import type { CachedList } from '../banks/cached-list.ts';
import {
  countNull,
  JSON_TYPES,
  type JsonType,
  type ListProfile,
} from '../banks/reading/profile.ts';
import type { Config } from '../config/config.ts';
import { JSON_TYPE, sendUncached } from './headers.ts';
import template from './openapi.json' with { type: 'json' };
import { problemOf, PUBLIC_PROBLEM_CODES } from './problems.ts';

// The public port described in OpenAPI 3.1: openapi.json, in which what depends on the running
// service stands in braces, and the code of a problem, such as {not_ready}, for the problem itself.

export interface OpenApiOptions {
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
    if (!newest || newest.cached !== cached) {
      const observed = cached && observeFields(cached);
      newest = {
        cached,
        // As bytes, which all clients share that do not read them.
        body: Buffer.from(
          JSON.stringify(
            createOpenApi({ ...options, observed, bank: cached && firstBank(cached) }),
          ),
        ),
      };
    }
    sendUncached(res, JSON_TYPE, newest.body);
  };
};

/** Before the first list nothing is known of it. */
interface KnownOfList {
  /** The fields of the served list. */
  readonly observed: readonly ObservedField[] | undefined;
  /** One of its entries, for the example. */
  readonly bank: unknown;
}

/** The document as an object. */
export const createOpenApi = ({
  version,
  fields,
  observed,
  bank,
}: OpenApiOptions & KnownOfList): unknown => {
  const values = new Map<unknown, unknown>([
    ['{version}', version],
    ['{bank schema}', bankSchema(fields, observed)],
    ['{example bank}', bank ?? Object.fromEntries((fields ?? []).map(({ name }) => [name, null]))],
    ['{problem codes}', PUBLIC_PROBLEM_CODES],
    ['{problems}', PUBLIC_PROBLEM_CODES.map((code) => problemOf(code))],
    ...PUBLIC_PROBLEM_CODES.map((code) => [`{${code}}`, problemOf(code)] as const),
  ]);
  // What is put in is not searched again, so a field may have any name.
  return JSON.parse(JSON.stringify(template), (_key, value: unknown) =>
    values.has(value) ? values.get(value) : value,
  );
};

/**
 * What the configuration promises of a bank, and the JSON types that the cached list has. The guard
 * refuses a list that differs in more than GUARD_MAX_DRIFT of its entries.
 */
const bankSchema = (
  fields: OpenApiOptions['fields'],
  observed: readonly ObservedField[] = [],
): object => {
  const shown = fields ?? observed.map(({ name }) => ({ name, isOptional: false }));
  const typesOf = ({ name, isOptional }: (typeof shown)[number]): object => {
    const { types = [], isNullable } = observed.find((field) => field.name === name) ?? {};
    // Any entry may lack an optional field, even if none does today.
    const all = types.length > 0 && (isNullable || isOptional) ? [...types, 'null'] : types;
    if (all.length === 0) return {};
    return { type: all.length === 1 ? all[0] : all };
  };
  return {
    type: 'object',
    description: fields
      ? 'The types are those of the list that is served now; while there is none, any. A field that the provider did not send is null.'
      : 'Every field that the provider sends; those of the list that is served now are named.',
    properties: Object.fromEntries(shown.map((field) => [field.name, typesOf(field)])),
    required: (fields ?? observed.filter(({ isNullable }) => !isNullable)).map(({ name }) => name),
    additionalProperties: fields === undefined,
  };
};

const firstBank = ({ representations }: CachedList): unknown => {
  const banks: unknown = JSON.parse(representations.identity.body.toString());
  return Array.isArray(banks) ? banks[0] : undefined;
};

/** What frontends can rely on, as long as the guard keeps it. */
interface ObservedField {
  readonly name: string;
  /**
   * The JSON types that its values have, in the order of {@link JSON_TYPES}; none if no entry has
   * it.
   */
  readonly types: readonly JsonType[];
  /** Some entries lack it: it is null there, or absent if BANK_FIELDS is unset. */
  readonly isNullable: boolean;
}

/** The published fields of a list, in the order in which they were first seen. */
export const observeFields = (list: {
  readonly profile: ListProfile;
  readonly count: number;
}): ObservedField[] =>
  [...list.profile].map(([name, field]) => ({
    name,
    types: JSON_TYPES.filter((type) => field.filled[type] > 0 || field.blank[type] > 0),
    isNullable: countNull(field, list.count) > 0,
  }));
