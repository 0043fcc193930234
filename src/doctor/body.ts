import { isPlainName } from '../banks/field-names.ts';
import { valueAt } from '../banks/reading/entry.ts';
import { isJsonObject, MAX_LIST_ENTRIES, parseJson } from '../json.ts';

// What a response has around the list: where the list is, and whether a number says that there are
// more entries. Of the provider's text only names are shown.

/** The list's own depth in the body: `response.body.banks` has three names. */
const LIST_DEPTH = 3;
const MAX_SHOWN = 5;

/** The body as JSON; undefined: it is not. */
export const toJson = (body: Buffer): unknown => parseJson(new TextDecoder().decode(body));

/**
 * Where the list is: at `configured` if there is one, otherwise at the place that is likely meant;
 * undefined: the body is the list, or there is none.
 */
export const findListPath = (body: unknown, configured: string | undefined): string | undefined => {
  if (!isJsonObject(body)) return undefined;
  if (configured !== undefined && Array.isArray(valueAt(body, configured))) return configured;
  const lists = membersOf(body).filter(({ value }) => Array.isArray(value));
  return lists.toSorted((a, b) => countObjects(b.value) - countObjects(a.value))[0]?.path;
};

const countObjects = (value: unknown): number =>
  Array.isArray(value) ? value.filter(isJsonObject).length : 0;

/**
 * The whole numbers beside the list that are greater than the number of its entries, such as
 * `meta.total (513)`: one may be the number of all banks. Greater ones than any list has are not.
 */
export const findGreaterNumbers = (body: unknown, entries: number): readonly string[] =>
  membersOf(body)
    .filter(({ value }) => Number.isInteger(value))
    .filter(({ value }) => Number(value) > entries && Number(value) <= MAX_LIST_ENTRIES)
    .slice(0, MAX_SHOWN)
    .map(({ path, value }) => `${path} (${String(value)})`);

/** The members of an object and of the objects in it, by their paths; no element of an array. */
const membersOf = (
  value: unknown,
  depth = LIST_DEPTH,
): readonly { readonly path: string; readonly value: unknown }[] => {
  if (!isJsonObject(value) || depth === 0) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    isPlainName(name)
      ? [
          { path: name, value: member },
          ...membersOf(member, depth - 1).map((inner) => ({
            path: `${name}.${inner.path}`,
            value: inner.value,
          })),
        ]
      : [],
  );
};
