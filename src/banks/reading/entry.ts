import { hash } from 'node:crypto';
import { isJsonObject, MAX_PATH_DEPTH, type JsonObject } from '../../json.ts';

// One entry of a list: what of it is published, and why it may be unusable.

/** A field as browsers see it (`name`) and where the provider sends it (`from`). */
export interface FieldRule {
  readonly name: string;
  /** The provider's name for it, or its path: `identification.ispb` is a field inside an object. */
  readonly from: string;
  /** It may be missing from every entry. */
  readonly isOptional?: boolean;
}

/**
 * Whether a field has a value that says something: present, not null, not a string of white space
 * only, and not an array without a value that does.
 */
export const isFilled = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(isFilled);
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

/**
 * Calls `found` for each value in `object` that is not an object, with its path, in order, {@link
 * MAX_PATH_DEPTH} deep.
 */
export const forEachLeaf = (
  object: JsonObject,
  found: (path: string, value: unknown) => void,
  prefix = '',
  depth = 1,
): void => {
  for (const [name, value] of Object.entries(object)) {
    if (!isJsonObject(value)) found(prefix + name, value);
    else if (depth < MAX_PATH_DEPTH) forEachLeaf(value, found, `${prefix}${name}.`, depth + 1);
  }
};

/**
 * Whether a chosen field may have this value: a text, a number, true, false, null or an array of
 * these.
 */
export const isPlainValue = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Array.isArray(value) && value.every(isPlainValue));

/**
 * The published fields of one entry, in their configured order; a field that the entry lacks is
 * null.
 */
export const narrow = (entry: JsonObject, fields: readonly FieldRule[] | undefined): JsonObject =>
  Object.fromEntries(
    fields
      ? fields.map(({ name, from }) => [name, valueAt(entry, from) ?? null])
      : // Assigned anywhere in a browser, this key would change an object's prototype.
        Object.entries(entry).filter(([name]) => name !== '__proto__'),
  );

export const NOTHING_REJECTED = {
  /** Not a JSON object. */
  not_an_object: 0,
  /** A field of BANK_REQUIRED_FIELDS is not filled. */
  required_field: 0,
  /** No published field is filled. */
  nothing_published: 0,
  /**
   * A field of BANK_FIELDS is an object, or an array with objects: what is inside was not chosen.
   */
  object_value: 0,
  /** A number that browsers would read as another one. */
  altered_number: 0,
  /** A nested object that would change its prototype where a browser assigns its members. */
  unsafe_key: 0,
  /** Its published content is identical to that of an earlier entry. */
  duplicate: 0,
};

/** How many entries were rejected, by reason. */
export type RejectedEntries = Readonly<typeof NOTHING_REJECTED>;
export type RejectionReason = keyof RejectedEntries;

const isRejectionReason = (name: string): name is RejectionReason =>
  Object.hasOwn(NOTHING_REJECTED, name);
export const REJECTION_REASONS = Object.keys(NOTHING_REJECTED).filter(isRejectionReason);

export const countRejected = (rejected: RejectedEntries): number =>
  REJECTION_REASONS.reduce((sum, reason) => sum + rejected[reason], 0);

/**
 * Why a narrowed entry may not be published; undefined where it may. list-reader.ts finds
 * duplicates.
 * @param isNarrowed whether its fields were chosen: only then may none be an object
 */
export const whyUnusable = (
  bank: JsonObject,
  requiredFields: readonly string[],
  isNarrowed: boolean,
): RejectionReason | undefined => {
  if (!requiredFields.every((name) => isFilled(bank[name]))) return 'required_field';
  const values = Object.values(bank);
  if (!values.some(isFilled)) return 'nothing_published';
  if (isNarrowed && !values.every(isPlainValue)) return 'object_value';
  if (values.some(hasAlteredNumber)) return 'altered_number';
  return values.some(hasUnsafeKey) ? 'unsafe_key' : undefined;
};

/**
 * A number beyond the integers that a double holds exactly (2^53 - 1) may be another number
 * already.
 */
const hasAlteredNumber = (value: unknown): boolean => {
  if (typeof value === 'object' && value !== null)
    return Object.values(value).some(hasAlteredNumber);
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
};

const hasUnsafeKey = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(hasUnsafeKey));

/** 48 bits of the hash of a text, by which values are compared without holding them. */
export const digestOf = (text: string): number => hash('sha256', text, 'buffer').readUIntBE(0, 6);
