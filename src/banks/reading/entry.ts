import { hash } from 'node:crypto';

// One entry of a list: what of it is published, and why it may be unusable.

export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of JSON text; undefined where it is none. The parser's message quotes the text, so it goes no further. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A field as browsers see it (`name`) and as the provider sends it (`from`). */
export interface FieldRule {
  readonly name: string;
  readonly from: string;
  /** It may be missing from every entry. */
  readonly isOptional?: boolean;
}

/** Whether a field has a value that says something: present, not null and not a string of white space only. */
export const isFilled = (value: unknown): boolean =>
  value !== undefined && value !== null && (typeof value !== 'string' || /\S/.test(value));

/** The published fields of one entry, in their configured order; a field that the entry lacks is null. */
export const narrow = (entry: JsonObject, fields: readonly FieldRule[] | undefined): JsonObject =>
  Object.fromEntries(
    fields
      ? fields.map(({ name, from }) => [name, Object.hasOwn(entry, from) ? entry[from] : null])
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

const isRejectionReason = (name: string): name is RejectionReason => Object.hasOwn(NOTHING_REJECTED, name);
export const REJECTION_REASONS = Object.keys(NOTHING_REJECTED).filter(isRejectionReason);

export const countRejected = (rejected: RejectedEntries): number =>
  REJECTION_REASONS.reduce((sum, reason) => sum + rejected[reason], 0);

/** Why a narrowed entry may not be published; undefined where it may. Duplicates are found by who reads the list. */
export const whyUnusable = (
  bank: JsonObject,
  requiredFields: readonly string[],
): RejectionReason | undefined => {
  if (!requiredFields.every((name) => isFilled(bank[name]))) return 'required_field';
  const values = Object.values(bank);
  if (!values.some(isFilled)) return 'nothing_published';
  if (values.some(hasAlteredNumber)) return 'altered_number';
  return values.some(hasUnsafeKey) ? 'unsafe_key' : undefined;
};

/** A number beyond the integers that a double holds exactly (2^53 - 1) may be another number already. */
const hasAlteredNumber = (value: unknown): boolean => {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasAlteredNumber);
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
};

const hasUnsafeKey = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(hasUnsafeKey));

/** 48 bits of the hash of a text, by which values are compared without holding them. */
export const digestOf = (text: string): number => hash('sha256', text, 'buffer').readUIntBE(0, 6);
