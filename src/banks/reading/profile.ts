import type { JsonObject } from '../../json.ts';
import { isFilled } from './entry.ts';

// What the published fields of a list hold: how many entries, and which JSON types. Never a value.

export const JSON_TYPES = ['string', 'number', 'boolean', 'object', 'array'] as const;
export type JsonType = (typeof JSON_TYPES)[number];

export type FieldProfile = Readonly<ReturnType<typeof newField>>;

/** By published name. At most {@link MAX_FIELD_NAMES}, where the provider chooses the names. */
export type ListProfile = ReadonlyMap<string, FieldProfile>;

/** Names beyond these are not collected: they are for operators, and no bank has as many fields. */
export const MAX_FIELD_NAMES = 200;
export const MAX_FIELD_NAME_LENGTH = 100;

/** In how many entries a field is filled. */
export const countFilled = (field: FieldProfile | undefined): number =>
  JSON_TYPES.reduce((sum, type) => sum + (field?.filled[type] ?? 0), 0);

/** A field that no entry has. */
export const newField = () => ({
  /**
   * In how many entries the field is filled (present, not null, not a blank string), by the JSON
   * type of its value.
   */
  filled: { string: 0, number: 0, boolean: 0, object: 0, array: 0 },
  /** In how many entries it is an empty string, or one of white space only. */
  blankStrings: 0,
});

/**
 * Builds the profile of a list, entry by entry. `names`: the published fields; undefined: those
 * that the entries have.
 */
export const createProfile = (names: readonly string[] | undefined) => {
  const fields = new Map(names?.map((name) => [name, newField()]));
  const fieldOf = (name: string) => {
    const known = fields.get(name);
    if (known || fields.size >= MAX_FIELD_NAMES || name.length > MAX_FIELD_NAME_LENGTH)
      return known;
    const field = newField();
    fields.set(name, field);
    return field;
  };
  return {
    add: (entry: JsonObject): void => {
      for (const [name, value] of Object.entries(entry)) {
        const field = fieldOf(name);
        if (!field) continue;
        if (isFilled(value)) field.filled[jsonTypeOf(value)] += 1;
        else if (typeof value === 'string') field.blankStrings += 1;
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
