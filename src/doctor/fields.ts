// What the provider's entries are made of: names, how often each is filled, and what kind of value it has. Never a value.

export interface FieldSeen {
  readonly name: string;
  /** The share of the entries in which it is more than null or an empty text, 0 to 1. */
  readonly filled: number;
  /** The JSON types of its values: `text`, `number`, `true/false`, `list`, `object`. */
  readonly types: readonly string[];
  /** No two entries have the same value: a candidate for an identifier. */
  readonly isUnique: boolean;
}

/** The fields of `entries` in the order in which they were first seen. */
export const surveyFields = (entries: readonly unknown[]): readonly FieldSeen[] => {
  const objects = entries.filter(isObject);
  const names = new Set(objects.flatMap((entry) => Object.keys(entry)));
  return [...names].map((name) => {
    const values = objects.map((entry) => entry[name]).filter(isFilled);
    return {
      name,
      filled: values.length / entries.length,
      types: [...new Set(values.map(typeOf))],
      isUnique:
        values.length === entries.length &&
        new Set(values.map((value) => JSON.stringify(value))).size === values.length,
    };
  });
};

/** How many of `entries` are no JSON objects. */
export const countOthers = (entries: readonly unknown[]): number =>
  entries.filter((entry) => !isObject(entry)).length;

/** Where a list may be inside an answer that is none: the path of its members, such as `data` or `data.items`. */
export const findLists = (value: unknown): readonly string[] => {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (!isPrintable(name)) return [];
    if (Array.isArray(member)) return [name];
    const inner = isObject(member) ? Object.entries(member) : [];
    return inner.flatMap(([deeper, list]) =>
      Array.isArray(list) && isPrintable(deeper) ? [`${name}.${deeper}`] : [],
    );
  });
};

/**
 * Whether a name that the provider chose may be shown on a terminal and can stand in BANK_FIELDS: letters, digits and a
 * few signs. Anything else could be an escape sequence, or a text that is no name.
 */
export const isPrintable = (name: string): boolean =>
  /^[\p{L}\p{N}_.$@/-]{1,64}$/u.test(name) && name !== '__proto__';

/** The text for BANK_FIELDS that publishes every field which can be named there; undefined where none can. */
export const suggestFields = (fields: readonly FieldSeen[]): string | undefined => {
  const names = fields.filter(({ name, filled }) => isPrintable(name) && filled > 0).map(({ name }) => name);
  return names.length > 0 ? `BANK_FIELDS=${names.join(',')}` : undefined;
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isFilled = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? 'true/false' : typeof value;
};
