import type { JsonObject } from '../../json.ts';
import { forEachLeaf, isFilled, isPlainValue } from './entry.ts';
import { MAX_FIELD_NAME_LENGTH, MAX_FIELD_NAMES } from './profile.ts';

// What the provider's entries are made of: the paths of their fields, never a value. At most
// MAX_FIELD_NAMES of them.

/** A field that BANK_FIELDS may name. */
export interface PublishableField {
  /** Its name, or the path that leads to it. */
  readonly path: string;
  /** Every entry has a value for it. */
  readonly isEverywhere: boolean;
}

export const createUpstreamFields = () => {
  const seen = new Map<string, { filled: number; hasObjects: boolean }>();
  const note = (path: string, value: unknown): void => {
    let field = seen.get(path);
    if (!field) {
      if (seen.size >= MAX_FIELD_NAMES || path.length > MAX_FIELD_NAME_LENGTH) return;
      field = { filled: 0, hasObjects: false };
      seen.set(path, field);
    }
    if (isFilled(value)) field.filled += 1;
    field.hasObjects ||= !isPlainValue(value);
  };
  return {
    add: (entry: JsonObject): void => forEachLeaf(entry, note),
    /** @param objects how many entries there were */
    finish: (objects: number) => {
      // A field that is an object in some entries and null in others was noted besides the fields
      // in it. If it has other values too, it is one of the fields, but not to be published.
      const parents = parentsOf(seen.keys());
      return {
        upstreamFields: [...seen]
          .filter(([path, { filled }]) => filled > 0 || !parents.has(path))
          .map(([path]) => path),
        publishableFields: [...seen]
          .filter(
            ([path, { filled, hasObjects }]) => filled > 0 && !hasObjects && !parents.has(path),
          )
          .map(([path, { filled }]): PublishableField => ({
            path,
            isEverywhere: filled === objects,
          })),
      };
    },
  };
};

/** The paths of the values in `object`, which is at `path` itself. */
export const leavesOf = (object: JsonObject, path: string): readonly string[] => {
  const leaves: string[] = [];
  forEachLeaf(object, (leaf, value) => {
    if (leaves.length < MAX_FIELD_NAMES && isPlainValue(value)) leaves.push(`${path}.${leaf}`);
  });
  return leaves;
};

/**
 * The paths that others go through: `a.b` has the parent `a`, `a.b.c` also `a.b`. Long ones are
 * left out: those of a name with a dot after each letter would be much text.
 */
export const parentsOf = (paths: Iterable<string>): ReadonlySet<string> => {
  const parents = new Set<string>();
  for (const path of paths)
    for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
      if (dot > MAX_FIELD_NAME_LENGTH) break;
      parents.add(path.slice(0, dot));
    }
  return parents;
};
