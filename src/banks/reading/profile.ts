import { isFilled, type JsonObject } from './entry.ts';

// What the published fields of a list hold: how many entries, and which JSON types. Never a value.

export const JSON_TYPES = ['string', 'number', 'boolean', 'object', 'array'] as const;
export type JsonType = (typeof JSON_TYPES)[number];

export interface FieldProfile {
  /** In how many entries the field is filled (present, not null, not an empty string), by the JSON type of its value. */
  readonly filled: Readonly<Record<JsonType, number>>;
  /** In how many entries it is an empty string. */
  readonly emptyStrings: number;
}

/** By published name. At most {@link MAX_FIELD_NAMES}, where the provider chooses the names. */
export type ListProfile = ReadonlyMap<string, FieldProfile>;

/** Names beyond these are not collected: they are for operators, and no bank has as many fields. */
export const MAX_FIELD_NAMES = 200;
export const MAX_FIELD_NAME_LENGTH = 100;

/** In how many entries a field is filled. */
export const countFilled = (field: FieldProfile | undefined): number =>
  JSON_TYPES.reduce((sum, type) => sum + (field?.filled[type] ?? 0), 0);

/** What frontends can rely on, as long as the guard keeps it. */
export interface ObservedField {
  readonly name: string;
  /** The JSON types that its values have, in the order of {@link JSON_TYPES}; none where no entry has it. */
  readonly types: readonly JsonType[];
  /** Some entries lack it: it is null there, or absent where BANK_FIELDS is unset. */
  readonly isNullable: boolean;
}

/** The published fields of a list, in the order in which they were first seen. */
export const observeFields = (list: {
  readonly profile: ListProfile;
  readonly count: number;
}): ObservedField[] =>
  [...list.profile].map(([name, field]) => ({
    name,
    types: JSON_TYPES.filter(
      (type) => field.filled[type] > 0 || (type === 'string' && field.emptyStrings > 0),
    ),
    isNullable: countFilled(field) + field.emptyStrings < list.count,
  }));

/** A field that no entry has. */
export const newField = () => ({
  filled: { string: 0, number: 0, boolean: 0, object: 0, array: 0 },
  emptyStrings: 0,
});

/** Builds the profile of a list, entry by entry. `names`: the published fields; undefined: those that the entries have. */
export const createProfile = (names: readonly string[] | undefined) => {
  const fields = new Map(names?.map((name) => [name, newField()]));
  const fieldOf = (name: string) => {
    const known = fields.get(name);
    if (known || fields.size >= MAX_FIELD_NAMES || name.length > MAX_FIELD_NAME_LENGTH) return known;
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
        else if (value === '') field.emptyStrings += 1;
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
