import type { JsonObject } from '../../json.ts';
import { isFilled, MAX_FIELD_CHARS } from './entry.ts';

// What the published fields of a list hold: how many entries, and which JSON types. Never a value.

export const JSON_TYPES = ['string', 'number', 'boolean', 'array'] as const;
export type JsonType = (typeof JSON_TYPES)[number];

export type FieldProfile = Readonly<ReturnType<typeof newField>>;

/** By published name. At most {@link MAX_FIELD_NAMES}, where the provider chooses the names. */
export type ListProfile = ReadonlyMap<string, FieldProfile>;

/** Names beyond these are not collected: they are for operators, and no bank has as many fields. */
export const MAX_FIELD_NAMES = 200;

/** In how many entries a field is filled. */
export const countFilled = ({ filled }: FieldProfile): number =>
  JSON_TYPES.reduce((sum, type) => sum + filled[type], 0);

/** A field that no entry has. */
const newField = () => ({
  /** In how many entries the field is filled ({@link isFilled}), by the JSON type of its value. */
  filled: { string: 0, number: 0, boolean: 0, array: 0 },
  /** The types of its values, those that fill nothing included, such as an empty string. */
  types: new Set<JsonType>(),
  /** In how many entries it is neither missing nor null. */
  present: 0,
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
        const type = jsonTypeOf(value);
        if (!field || !type) continue;
        field.present += 1;
        field.types.add(type);
        if (isFilled(value)) field.filled[type] += 1;
      }
    },
    finish: (): ListProfile => fields,
  };
};

/** Undefined for null. Objects are not published. */
const jsonTypeOf = (value: unknown): JsonType | undefined => {
  const type = Array.isArray(value) ? 'array' : typeof value;
  return JSON_TYPES.find((known) => known === type);
};
