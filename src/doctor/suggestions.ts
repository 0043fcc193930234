import { suggestFields } from '../banks/field-suggestion.ts';
import type { FieldRule } from '../banks/reading/entry.ts';
import { MAX_FIELD_NAMES } from '../banks/reading/profile.ts';
import { nearestName } from '../nearest-name.ts';
import type { Survey } from './survey.ts';

// Lines for BANK_FIELDS, made of what the provider's entries have. Pure.

export type MissingField = ReturnType<typeof findMissing>[number];

/**
 * The fields of BANK_FIELDS that no entry has, the optional ones included, each with the name or
 * path under which the provider probably sends it.
 */
export const findMissing = (
  published: readonly FieldRule[] = [],
  { fields, nestedFields }: Survey,
) => {
  const filled = fields.filter(({ isPublishable }) => isPublishable).map(({ name }) => name);
  // Each of the provider's fields is the nearest of one only.
  const unused = new Set(filled.filter((name) => !published.some(({ from }) => from === name)));
  const present = new Set(fields.filter((field) => field.filled > 0).map(({ name }) => name));
  return published
    .filter(
      ({ from }) => !present.has(from) && !nestedFields.some(({ field }) => field.from === from),
    )
    .map((field) => {
      const nearest = nearestName(field.from, [...unused]);
      if (nearest !== undefined) unused.delete(nearest);
      return { field, nearest };
    });
};

/** A line of the configuration, and what it is for. */
interface Suggestion {
  readonly label: string;
  readonly line: string;
}

/**
 * Lines to choose from. If a configured field is an object, or is missing and not optional: the
 * configured fields, corrected. Otherwise: every field of the provider, with the configured names.
 * A field that some entries lack is marked as optional.
 */
export const suggestLines = (
  published: readonly FieldRule[] = [],
  missing: readonly MissingField[],
  { fields, nestedFields }: Survey,
): readonly Suggestion[] => {
  const publishable = fields
    .filter(({ isPublishable }) => isPublishable)
    .map(({ name, filled }) => ({ path: name, isEverywhere: filled === 1 }));
  const listed = publishable.slice(0, MAX_FIELD_NAMES);
  /**
   * The field at a path as it is written in BANK_FIELDS, with a name that is made from the path.
   */
  const newItem = new Map(suggestFields(listed).map((item, index) => [listed[index]?.path, item]));
  const isEverywhere = (from: string): boolean =>
    publishable.some((field) => field.path === from && field.isEverywhere);
  /** A field as it is written in BANK_FIELDS, with the name that is configured. */
  const toItem = ({ name, from, isOptional }: FieldRule): string => {
    const item = name === from ? name : `${name}:${from}`;
    return isOptional || !isEverywhere(from) ? `${item}?` : item;
  };

  const required = missing.filter(({ field }) => !field.isOptional);
  /** What replaces a configured field. */
  const correct = (field: FieldRule, keepsNames: boolean): readonly string[] => {
    const object = nestedFields.find((candidate) => candidate.field === field);
    if (object) {
      const [only, ...others] = object.inside;
      // With one value inside, that is what the configured name is for.
      if (only !== undefined && others.length === 0) return [toItem({ ...field, from: only })];
      return object.inside.flatMap((path) => newItem.get(path) ?? []);
    }
    const absent = required.find((candidate) => candidate.field === field);
    if (!absent) return [toItem(field)];
    if (absent.nearest === undefined) return [];
    const renamed = toItem({ ...field, from: absent.nearest });
    const hasOwnName = keepsNames || field.name !== field.from;
    return [hasOwnName ? renamed : (newItem.get(absent.nearest) ?? renamed)];
  };
  const correctAll = (keepsNames: boolean): string =>
    [...new Set(published.flatMap((field) => correct(field, keepsNames)))].join(',');
  const listAll = (): string =>
    listed
      .map(({ path }) => {
        const field = published.find(({ from }) => from === path);
        return field ? toItem(field) : (newItem.get(path) ?? path);
      })
      .join(',');

  const isCorrect = required.length === 0 && nestedFields.length === 0;
  const theirs = isCorrect ? '' : correctAll(false);
  if (theirs === '')
    return suggest('Keep what pages need, in the order in which they should get it:', listAll());
  const ours = correctAll(true);
  return [
    ...suggest("Corrected, with the provider's names:", theirs),
    ...suggest('Corrected, with the names that pages read now:', ours === theirs ? '' : ours),
  ];
};

/** Nothing if there are no `fields`. */
const suggest = (label: string, fields: string): readonly Suggestion[] =>
  fields === '' ? [] : [{ label, line: `BANK_FIELDS=${fields}` }];
