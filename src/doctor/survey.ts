import { isPlainName } from '../banks/field-names.ts';
import {
  forEachLeaf,
  isFilled,
  isPlainValue,
  valueAt,
  type FieldRule,
} from '../banks/reading/entry.ts';
import { leavesOf, parentsOf } from '../banks/reading/upstream-fields.ts';
import { namesNextPage } from '../provider/provider.ts';
import { isJsonObject } from '../json.ts';

// What the provider's entries contain: the names of their fields, how often each is filled, and the
// types of its values, but never a value. Also where the list is, and whether it seems complete.
// Pure.

export type Survey = ReturnType<typeof surveyEntries>;

export type FieldSeen = Survey['fields'][number];

/** @param published undefined: every field */
export const surveyEntries = (
  entries: readonly unknown[],
  published: readonly FieldRule[] | undefined,
) => {
  const objects = entries.filter(isJsonObject);
  const seen = new Map<string, unknown[]>();
  for (const entry of objects)
    forEachLeaf(entry, (path, value) => {
      const values = seen.get(path) ?? [];
      seen.set(path, values);
      if (isFilled(value)) values.push(value);
    });
  const parents = parentsOf(seen.keys());
  const contents = objects
    .map((entry) =>
      published ? published.map(({ from }) => valueAt(entry, from)) : Object.values(entry),
    )
    .filter((values) => values.some(isFilled))
    .map((values) => JSON.stringify(values));
  return {
    entries: entries.length,
    /** How many entries are not JSON objects. */
    nonObjects: entries.length - objects.length,
    /** How many objects have the same published content as an earlier one. */
    duplicates: contents.length - new Set(contents).size,
    /** In the order in which they were first seen; those inside objects by their paths. */
    fields: [...seen]
      .filter(([path, values]) => values.length > 0 || !parents.has(path))
      .map(([path, values]) => ({
        name: path,
        /** The share of the objects in which it is filled, 0 to 1. */
        filled: values.length / objects.length,
        /**
         * The JSON types of its values, as people call them: `text`, `number`, `true/false`,
         * `list`, `list of objects`.
         */
        types: [...new Set(values.map(typeOf))],
        /** Whether BANK_FIELDS may name it. */
        isPublishable: values.length > 0 && values.every(isPlainValue) && isPlainName(path),
        /** Every object has a value, and no two the same: a candidate for an identifier. */
        isUnique:
          values.length === objects.length &&
          new Set(values.map((value) => JSON.stringify(value))).size === values.length,
      })),
    /**
     * The published fields that are objects in some entry, each with the paths of what is in the
     * first of them.
     */
    nestedFields: (published ?? []).flatMap((field) => {
      const value = objects
        .map((entry) => valueAt(entry, field.from))
        .find((each) => !isPlainValue(each));
      if (value === undefined) return [];
      return [{ field, inside: isJsonObject(value) ? leavesOf(value, field.from) : [] }];
    }),
  };
};

/**
 * Where a list may be inside a response that is not one: paths of at most three members, such as
 * `data` or `data.items`, those of lists of objects first, and the longest of them first of all.
 */
export const findLists = (value: unknown): readonly string[] =>
  listsIn(value, 3)
    .toSorted((a, b) => b.objectCount - a.objectCount)
    .map(({ path }) => path);

const listsIn = (
  value: unknown,
  maxDepth: number,
): readonly { readonly path: string; readonly objectCount: number }[] => {
  if (!isJsonObject(value) || maxDepth === 0) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (!isPlainName(name)) return [];
    if (Array.isArray(member))
      return [{ path: name, objectCount: member.filter(isJsonObject).length }];
    return listsIn(member, maxDepth - 1).map(({ path, objectCount }) => ({
      path: `${name}.${path}`,
      objectCount,
    }));
  });
};

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return isPlainValue(value) ? 'list' : 'list of objects';
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? 'true/false' : typeof value;
};

/**
 * What suggests that a response is the first page of a longer list, in words; undefined if nothing
 * does. This service makes one request and reads one response.
 */
export const signOfPages = (link: string | undefined, value: unknown): string | undefined => {
  if (namesNextPage(link)) return 'the response has a Link header to a next page';
  if (isJsonObject(value)) {
    const members = Object.keys(value).filter((name) =>
      PAGING_MEMBER.test(name.replaceAll(/[_-]/g, '')),
    );
    return members.length > 0
      ? `the response has members of pages: ${members.join(', ')}`
      : undefined;
  }
  if (Array.isArray(value) && PAGE_SIZES.has(value.length))
    return `the list has exactly ${value.length} entries, a usual size of a page`;
  return undefined;
};

const PAGING_MEMBER =
  /^(?:pages?|pagesize|perpage|limit|offset|cursor|next(?:page|cursor)?|has(?:more|next)|total(?:count|pages|elements)?|pagination|paging|links)$/i;

const PAGE_SIZES = new Set([10, 20, 25, 30, 50, 100, 200, 250, 500, 1_000]);
