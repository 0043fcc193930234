import { isFilled, isJsonObject, type FieldRule } from '../banks/reading/entry.ts';
import { isPlainName } from '../banks/guard/field-names.ts';
import { nearestName } from '../nearest-name.ts';

// What the provider's entries are made of: names, how often each is filled, and what kind of value it has, never a value; and
// what of it BANK_FIELDS names. Pure.

export type Survey = ReturnType<typeof surveyEntries>;

export type FieldSeen = Survey['fields'][number];

/** @param published undefined: every field */
export const surveyEntries = (entries: readonly unknown[], published: readonly FieldRule[] | undefined) => {
  const objects = entries.filter(isJsonObject);
  const names = new Set(objects.flatMap((entry) => Object.keys(entry)));
  const contents = objects
    .map((entry) => (published ? published.map(({ from }) => entry[from]) : Object.values(entry)))
    .filter((values) => values.some(isFilled))
    .map((values) => JSON.stringify(values));
  return {
    entries: entries.length,
    /** How many entries are not JSON objects. */
    nonObjects: entries.length - objects.length,
    /** How many objects have the same published content as an earlier one. */
    duplicates: contents.length - new Set(contents).size,
    /** In the order in which they were first seen. */
    fields: [...names].map((name) => {
      const values = objects.map((entry) => entry[name]).filter(isFilled);
      return {
        name,
        /** The share of the objects in which it is more than null or an empty string, 0 to 1. */
        filled: values.length / objects.length,
        /** The JSON types of its values, as people call them: `text`, `number`, `true/false`, `list`, `object`. */
        types: [...new Set(values.map(typeOf))],
        /** Every object has a value, and no two the same: a candidate for an identifier. */
        isUnique:
          values.length === objects.length &&
          new Set(values.map((value) => JSON.stringify(value))).size === values.length,
      };
    }),
  };
};

/** Where a list may be inside an answer that is not one: paths of at most two members, such as `data` or `data.items`. */
export const findLists = (value: unknown, maxDepth = 2): readonly string[] => {
  if (!isJsonObject(value) || maxDepth === 0) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (!isPlainName(name)) return [];
    return Array.isArray(member) ? [name] : findLists(member, maxDepth - 1).map((path) => `${name}.${path}`);
  });
};

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? 'true/false' : typeof value;
};

/**
 * What suggests that an answer is the first page of a longer list, in words; undefined where nothing does. This service
 * makes one request and reads one answer.
 */
export const signOfPages = (link: string | undefined, value: unknown): string | undefined => {
  // RFC 8288 section 3; the relation may be one of several.
  if (/;\s*rel\s*=\s*("[^"]*\bnext\b|next\b)/i.test(link ?? ''))
    return 'the answer has a Link header to a next page';
  if (isJsonObject(value)) {
    const members = Object.keys(value).filter((name) => PAGING_MEMBER.test(name.replaceAll(/[_-]/g, '')));
    return members.length > 0 ? `the answer has members of pages: ${members.join(', ')}` : undefined;
  }
  if (Array.isArray(value) && PAGE_SIZES.has(value.length))
    return `the list has exactly ${value.length} entries, a usual size of a page`;
  return undefined;
};

const PAGING_MEMBER =
  /^(?:pages?|pagesize|perpage|limit|offset|cursor|next(?:page|cursor)?|has(?:more|next)|total(?:count|pages|elements)?|pagination|paging|links)$/i;

const PAGE_SIZES = new Set([10, 20, 25, 30, 50, 100, 200, 250, 500, 1_000]);

export type MissingField = ReturnType<typeof findMissing>[number];

/**
 * The fields of BANK_FIELDS that no entry has, the optional ones included, each with the name under which the provider
 * probably sends it.
 */
export const findMissing = (published: readonly FieldRule[] = [], seen: readonly FieldSeen[]) => {
  const filled = nameable(seen).map(({ name }) => name);
  // Each of the provider's fields is the nearest of one only.
  const unused = new Set(filled.filter((name) => !published.some(({ from }) => from === name)));
  const present = new Set(seen.filter((field) => field.filled > 0).map(({ name }) => name));
  return published
    .filter(({ from }) => !present.has(from))
    .map((field) => {
      const nearest = nearestName(field.from, [...unused]);
      if (nearest !== undefined) unused.delete(nearest);
      return { field, nearest };
    });
};

/**
 * Lines to choose from, each with a label: the configured fields corrected where one is missing that is not optional; otherwise
 * every field of the provider. A field that some entries lack is marked as optional.
 */
export const suggestLines = (
  published: readonly FieldRule[] = [],
  missing: readonly MissingField[],
  seen: readonly FieldSeen[],
) => {
  const required = missing.filter(({ field }) => !field.isOptional);
  const corrected = published.flatMap((field) => {
    const absent = required.find((candidate) => candidate.field === field);
    const from = absent ? absent.nearest : field.from;
    return from === undefined ? [] : [{ ...field, from, isRenamed: field.name !== field.from }];
  });
  if (required.length === 0 || corrected.length === 0) {
    const all = nameable(seen).map(({ name }) => ({ name, from: name, isOptional: false }));
    const label = 'Keep what pages need, in the order in which they should get it:';
    return all.length === 0 ? [] : [{ label, line: toLine(all, seen) }];
  }
  const ours = toLine(corrected, seen);
  const theirs = toLine(
    corrected.map((field) => (field.isRenamed ? field : { ...field, name: field.from })),
    seen,
  );
  return [
    { label: "Corrected, with the provider's names:", line: theirs },
    ...(ours === theirs ? [] : [{ label: 'Corrected, with the names that pages read now:', line: ours }]),
  ];
};

const nameable = (seen: readonly FieldSeen[]): readonly FieldSeen[] =>
  seen.filter(({ name, filled }) => isPlainName(name) && filled > 0);

const toLine = (fields: readonly FieldRule[], seen: readonly FieldSeen[]): string => {
  const items = fields.map(({ name, from, isOptional }) => {
    const isEverywhere = seen.some((field) => field.name === from && field.filled === 1);
    return `${name === from ? name : `${name}:${from}`}${isOptional || !isEverywhere ? '?' : ''}`;
  });
  return `BANK_FIELDS=${items.join(',')}`;
};
