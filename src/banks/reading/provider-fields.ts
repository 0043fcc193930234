import { isJsonObject, type JsonObject } from '../../json.ts';
import { isFilled, isPlainValue, MAX_FIELD_CHARS } from './entry.ts';
import { MAX_FIELD_NAMES } from './profile.ts';

// The provider's own fields: how often each is filled, what of their names may be shown, and what
// BANK_FIELDS may be. Never a value. Depth, length and number of the paths are bounded before a path
// is built: a provider chooses the names.

/** A field that BANK_FIELDS may name. */
export interface PublishableField {
  /** Its name, or the path that leads to it. */
  readonly path: string;
  /** The share of the entries, 0 to 1, in which it is filled. */
  readonly share: number;
}

const MAX_DEPTH = 3;

export const createProviderFields = () => {
  const seen = new Map<string, { filled: number; hasObjects: boolean }>();
  const note = (path: string, value: unknown): void => {
    let field = seen.get(path);
    if (!field) {
      if (seen.size >= MAX_FIELD_NAMES) return;
      seen.set(path, (field = { filled: 0, hasObjects: false }));
    }
    if (!isPlainValue(value)) field.hasObjects = true;
    else if (isFilled(value)) field.filled += 1;
  };
  return {
    add: (entry: JsonObject): void => forEachPath(entry, note),
    /** @param entries how many there were */
    finish: (entries: number): readonly PublishableField[] =>
      [...seen]
        .filter(([, { hasObjects, filled }]) => !hasObjects && filled > 0)
        .map(([path, { filled }]) => ({ path, share: filled / entries })),
  };
};

/** Calls `found` with each path in `object` and what is there, objects before what is in them. */
const forEachPath = (
  object: JsonObject,
  found: (path: string, value: unknown) => void,
  prefix = '',
  depth = 1,
): void => {
  for (const [name, value] of Object.entries(object)) {
    if (prefix.length + name.length > MAX_FIELD_CHARS) continue;
    const path = prefix + name;
    found(path, value);
    if (depth < MAX_DEPTH && isJsonObject(value)) forEachPath(value, found, `${path}.`, depth + 1);
  }
};

/**
 * Whether a name that the provider chose may be shown to people and can stand in BANK_FIELDS:
 * letters, digits and a few signs. Anything else could be an escape sequence, or a text that is not
 * a name.
 */
export const isPlainName = (name: string): boolean =>
  /^[\p{L}\p{N}_.$@/-]{1,64}$/u.test(name) && !name.endsWith('__proto__');

/** A name as a message may show it. */
export const showName = (name: string): string =>
  isPlainName(name) ? name : '(a name that cannot be shown)';

/** With `?` a field is not checked any more: that is for those that most entries lack. */
const FEW = 0.5;

/**
 * The fields as BANK_FIELDS writes them: `code`, `ispb:ids.ispb` for one inside an object, `logo?`
 * for one that few entries have. Those whose names cannot stand there are left out.
 */
export const suggestFields = (fields: readonly PublishableField[]): readonly string[] => {
  const plain = fields.filter(({ path }) => isPlainName(path));
  const lastNames = plain.map(({ path }) => lastName(path));
  return plain.map(({ path, share }) => {
    const name = lastName(path);
    const isUnique = lastNames.indexOf(name) === lastNames.lastIndexOf(name);
    const item = isUnique && name !== path ? `${name}:${path}` : path;
    return share < FEW ? `${item}?` : item;
  });
};

const lastName = (path: string): string => path.slice(path.lastIndexOf('.') + 1) || path;
