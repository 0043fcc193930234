import { isJsonObject, type JsonObject } from '../../json.ts';
import { isFilled, isPlainValue, MAX_FIELD_CHARS } from './entry.ts';
import { MAX_FIELD_NAMES } from './profile.ts';

// What the provider's entries are made of: the paths of their fields, never a value. Depth, length
// and number of the paths are bounded before a path is built: a provider chooses the names.

/** A field that BANK_FIELDS may name. */
export interface PublishableField {
  /** Its name, or the path that leads to it. */
  readonly path: string;
  /** The share of the entries, 0 to 1, in which it is filled. */
  readonly share: number;
}

const MAX_DEPTH = 3;

export const createUpstreamFields = () => {
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
