import type { JsonObject } from '../../json.ts';
import { isFilled, MAX_FIELD_CHARS } from './entry.ts';

// What the published fields of a list hold: how many entries, and which JSON types. Never a value.

export const JSON_TYPES = ['string', 'number', 'boolean', 'object', 'array'] as const;
export type JsonType = (typeof JSON_TYPES)[number];

export type FieldProfile = Readonly<ReturnType<typeof newField>>;

/** By published name. At most {@link MAX_FIELD_NAMES}, where the provider chooses the names. */
export type ListProfile = ReadonlyMap<string, FieldProfile>;

/** Names beyond these are not collected: they are for operators, and no bank has as many fields. */
export const MAX_FIELD_NAMES = 200;

/** In how many entries a field is filled. */
export const countFilled = (field: FieldProfile | undefined): number =>
  JSON_TYPES.reduce((sum, type) => sum + (field?.filled[type] ?? 0), 0);

/** In how many entries a field is missing or null. */
export const countNull = (field: FieldProfile, entries: number): number =>
  JSON_TYPES.reduce((rest, type) => rest - field.filled[type] - field.blank[type], entries);

/** A field that no entry has. */
const newField = () => ({
  /** In how many entries the field is filled ({@link isFilled}), by the JSON type of its value. */
  filled: newCounts(),
  /** In how many entries it has a value that fills nothing, such as an empty string or array. */
  blank: newCounts(),
});

const newCounts = (): Record<JsonType, number> => ({
  string: 0,
  number: 0,
  boolean: 0,
  object: 0,
  array: 0,
});

/**
 * Builds the profile of a list, entry by entry. `names`: the published fields; undefined: those
 * that the entries have.
 */
export const createProfile = (names: readonly string[] | undefined) => {
  const fields = new Map(names?.map((name) => [name, newField()]));
  const fieldOf = (name: string) => {
    const known = fields.get(name);
    if (known || fields.size >= MAX_FIELD_NAMES || name.length > MAX_FIELD_CHARS) return known;
    const field = newField();
    fields.set(name, field);
    return field;
  };
  return {
    add: (entry: JsonObject): void => {
      for (const [name, value] of Object.entries(entry)) {
        const field = fieldOf(name);
        if (!field || value === null) continue;
        field[isFilled(value) ? 'filled' : 'blank'][jsonTypeOf(value)] += 1;
      }
    },
    finish: (): ListProfile => fields,
  };
};

const jsonTypeOf = (value: unknown): JsonType => {
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object';
};
