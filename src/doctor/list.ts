import { guard, type GuardedList } from '../banks/guard.ts';
import { LoadError } from '../banks/load-error.ts';
import { REJECTION_REASONS, valueAt } from '../banks/reading/entry.ts';
import { readList, type LoadedList, type ReadList } from '../banks/reading/list-reader.ts';
import { isPlainName, suggestFields } from '../banks/reading/provider-fields.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { formatCount } from '../format.ts';
import { isJsonObject, parseJson, type JsonObject } from '../json.ts';
import type { TriedLoad } from './load.ts';
import { formatBytes, renderFields, toFailure, type Step } from './report.ts';

// The list that has arrived: whether the service would serve it, what its entries have, and the
// variables that fit it.

/**
 * Whether the service would serve it.
 * @param held the saved list that can be served: with it the running service compares
 */
export const explainList = (
  config: Config,
  { outcome, parts }: TriedLoad,
  held: GuardedList | undefined,
): Step => {
  try {
    if (outcome instanceof LoadError) throw outcome;
    guard(outcome, held, parts.guardPolicy, [], systemClock.monotonicMs());
    return describeList(outcome, held);
  } catch (error) {
    return toFailure('list', LoadError.from(error), config);
  }
};

const describeList = (
  { count, json, rejected, hasNextPage }: LoadedList,
  held: GuardedList | undefined,
): Step => {
  const next = REJECTION_REASONS.filter((reason) => rejected[reason] > 0).map(
    (reason) => `${formatCount(rejected[reason], 'entry is', 'entries are')} left out (${reason}).`,
  );
  if (hasNextPage)
    next.push(
      'The response names a next page, which is not loaded. PROVIDER_QUERY may ask for all banks at once, such as pageSize=1000.',
    );
  const compared = held ? `; compared with the saved list of ${held.count}` : '';
  return {
    name: 'list',
    result: next.length > 0 ? 'note' : 'ok',
    message: `${formatCount(count, 'bank', 'banks')}, ${formatBytes(json.length)}${compared}`,
    next,
  };
};

/**
 * What its entries have, and what fits it; nothing where there is no list. BANK_FIELDS is suggested
 * unless it has been chosen, and the list is served with it.
 */
export const describeFields = (
  { banks }: Config,
  body: Buffer,
  isServed: boolean,
): readonly string[] => {
  const listPath = findListPath(parseJson(new TextDecoder().decode(body)), banks.listPath);
  let read: ReadList;
  try {
    read = readList(body, { ...banks, listPath });
  } catch {
    return [];
  }
  if (read.publishableFields.length === 0) return [];
  return [
    '',
    ...renderFields(read, banks.fields),
    ...(listPath === banks.listPath
      ? []
      : ['', 'The list is here:', `  BANK_LIST=${listPath ?? ''}`]),
    ...(isServed && banks.fields
      ? []
      : [
          '',
          'Every field of the provider. Keep those that browsers need, in their order:',
          `  BANK_FIELDS=${suggestFields(read.publishableFields).join(',')}`,
        ]),
  ];
};

/** The list's own depth in the body: `response.body.banks` has three names. */
const LIST_DEPTH = 3;

/**
 * Where the list is: at `configured` if there is one, otherwise the array with the most objects;
 * undefined: the body is the list, or there is none.
 */
const findListPath = (body: unknown, configured: string | undefined): string | undefined => {
  if (!isJsonObject(body)) return undefined;
  if (configured !== undefined && Array.isArray(valueAt(body, configured))) return configured;
  return listsIn(body).toSorted((a, b) => b.objects - a.objects)[0]?.path;
};

/** The arrays in an object and in the objects in it; none in another array. */
const listsIn = (
  object: JsonObject,
  prefix = '',
  depth = LIST_DEPTH,
): readonly { readonly path: string; readonly objects: number }[] =>
  Object.entries(object)
    .filter(([name]) => isPlainName(name))
    .flatMap(([name, value]) => {
      const path = prefix + name;
      if (Array.isArray(value)) return [{ path, objects: value.filter(isJsonObject).length }];
      return isJsonObject(value) && depth > 1 ? listsIn(value, `${path}.`, depth - 1) : [];
    });
