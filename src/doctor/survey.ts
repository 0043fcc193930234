import { isJsonObject } from '../banks/reading/entry.ts';
import { isPlainName } from '../banks/guard/field-names.ts';
import type { PublishedField } from '../config/values.ts';

// What the provider's entries are made of: names, how often each is filled, and what kind of value it has. Never a value.

export interface Survey {
  readonly entries: number;
  /** How many entries are not JSON objects. */
  readonly nonObjects: number;
  /** How many objects have the same published content as an earlier one. */
  readonly duplicates: number;
  /** In the order in which they were first seen. */
  readonly fields: readonly FieldSeen[];
}

export interface FieldSeen {
  readonly name: string;
  /** The share of the objects in which it is more than null or an empty string, 0 to 1. */
  readonly filled: number;
  /** The JSON types of its values, as people call them: `text`, `number`, `true/false`, `list`, `object`. */
  readonly types: readonly string[];
  /** Every object has a value, and no two the same: a candidate for an identifier. */
  readonly isUnique: boolean;
}

/** @param published undefined: every field */
export const surveyEntries = (
  entries: readonly unknown[],
  published: readonly PublishedField[] | undefined,
): Survey => {
  const objects = entries.filter(isJsonObject);
  const names = new Set(objects.flatMap((entry) => Object.keys(entry)));
  const contents = objects
    .map((entry) => (published ? published.map(({ from }) => entry[from]) : Object.values(entry)))
    .filter((values) => values.some(isFilled))
    .map((values) => JSON.stringify(values));
  return {
    entries: entries.length,
    nonObjects: entries.length - objects.length,
    duplicates: contents.length - new Set(contents).size,
    fields: [...names].map((name) => {
      const values = objects.map((entry) => entry[name]).filter(isFilled);
      return {
        name,
        filled: values.length / objects.length,
        types: [...new Set(values.map(typeOf))],
        isUnique:
          values.length === objects.length &&
          new Set(values.map((value) => JSON.stringify(value))).size === values.length,
      };
    }),
  };
};

/** Where a list may be inside an answer that is not one: paths of members, such as `data` or `data.items`. */
export const findLists = (value: unknown): readonly string[] => {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (!isPlainName(name)) return [];
    if (Array.isArray(member)) return [name];
    const inner = isJsonObject(member) ? Object.entries(member) : [];
    return inner.flatMap(([deeper, list]) =>
      Array.isArray(list) && isPlainName(deeper) ? [`${name}.${deeper}`] : [],
    );
  });
};

const isFilled = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? 'true/false' : typeof value;
};
