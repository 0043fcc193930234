import { isJsonObject, type JsonObject } from '../../json.ts';

// One entry of a list: what of it is published, and why it may be unusable.

/** A field as browsers see it (`name`) and where the provider sends it (`from`). */
export interface FieldRule {
  readonly name: string;
  /** The provider's name for it, or its path: `identification.ispb` is a field inside an object. */
  readonly from: string;
  /** It may be missing from every entry. */
  readonly isOptional?: boolean;
}

/** The provider's names and paths that are longer are not collected, and not published by default. */
export const MAX_FIELD_CHARS = 100;
/** How deep arrays may be nested in a published value. */
const MAX_ARRAY_DEPTH = 3;

/**
 * Whether a field has a value that says something: present, not null, not a string of white space
 * only, and not an array without a value that does.
 */
export const isFilled = (value: unknown, depth = 0): boolean => {
  if (Array.isArray(value))
    return depth < MAX_ARRAY_DEPTH && value.some((item) => isFilled(item, depth + 1));
  return value !== undefined && value !== null && (typeof value !== 'string' || /\S/.test(value));
};

/**
 * The value at `path` in `object`; undefined where there is none. A member whose name is the whole
 * path comes first, also if that has dots. Otherwise the rest of the path is looked for in the
 * member with the longest name that the path begins with.
 */
export const valueAt = (object: JsonObject, path: string): unknown => {
  if (Object.hasOwn(object, path)) return object[path];
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const name = path.slice(0, dot);
    if (!Object.hasOwn(object, name)) continue;
    const inner = object[name];
    return isJsonObject(inner) ? valueAt(inner, path.slice(dot + 1)) : undefined;
  }
  return undefined;
};

/** A text, a number, true, false, null, or an array of these: what may be published. */
export const isPlainValue = (value: unknown, depth = 0): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Array.isArray(value) &&
    depth < MAX_ARRAY_DEPTH &&
    value.every((item) => isPlainValue(item, depth + 1)));

/**
 * The published fields of one entry, in their configured order; a field that the entry lacks is
 * null. Without `fields`: those that have a plain value.
 */
export const narrow = (entry: JsonObject, fields: readonly FieldRule[] | undefined): JsonObject =>
  Object.fromEntries(
    fields
      ? fields.map(({ name, from }) => [name, valueAt(entry, from) ?? null])
      : Object.entries(entry).filter(
          ([name, value]) =>
            name.length <= MAX_FIELD_CHARS &&
            // Assigned anywhere in a browser, this key would change an object's prototype.
            name !== '__proto__' &&
            isPlainValue(value),
        ),
  );

export const NOTHING_REJECTED = {
  /** Not a JSON object. */
  not_an_object: 0,
  /** A field of BANK_REQUIRED_FIELDS is not filled. */
  required_field: 0,
  /** No published field is filled. */
  nothing_published: 0,
  /** A field of BANK_FIELDS is an object or has objects: what is inside was not chosen. */
  object_value: 0,
  /** A number that a double cannot hold: browsers would read another one. */
  altered_number: 0,
  /** Its published content equals that of an earlier entry. It is left out, and is no fault. */
  duplicate: 0,
};

/** How many entries are not in the list, by reason. */
export type RejectedEntries = Readonly<typeof NOTHING_REJECTED>;
export type RejectionReason = keyof RejectedEntries;

const isRejectionReason = (name: string): name is RejectionReason =>
  Object.hasOwn(NOTHING_REJECTED, name);
export const REJECTION_REASONS = Object.keys(NOTHING_REJECTED).filter(isRejectionReason);

/** How many entries were unusable. Repeated ones are not. */
export const countUnusable = (rejected: RejectedEntries): number =>
  REJECTION_REASONS.reduce((sum, reason) => sum + rejected[reason], -rejected.duplicate);

/** Such as `3 object_value, 1 not_an_object`. */
export const describeUnusable = (rejected: RejectedEntries): string =>
  REJECTION_REASONS.filter((reason) => reason !== 'duplicate' && rejected[reason] > 0)
    .map((reason) => `${rejected[reason]} ${reason}`)
    .join(', ');

/** Why a narrowed entry may not be published; undefined where it may. */
export const whyUnusable = (
  bank: JsonObject,
  requiredFields: readonly string[],
): RejectionReason | undefined => {
  if (!requiredFields.every((name) => isFilled(bank[name]))) return 'required_field';
  const values = Object.values(bank);
  if (!values.some((value) => isFilled(value))) return 'nothing_published';
  if (!values.every((value) => isPlainValue(value))) return 'object_value';
  return values.some(hasAlteredNumber) ? 'altered_number' : undefined;
};

/** Beyond 2^53 - 1 an integer may be another one already, and a number that is too large is infinite. */
const hasAlteredNumber = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(hasAlteredNumber);
  if (typeof value !== 'number') return false;
  return Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value);
};
