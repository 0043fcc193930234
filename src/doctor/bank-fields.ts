import { isPlainName } from '../banks/guard/field-names.ts';
import type { PublishedField } from '../config/values.ts';
import { nearestName } from '../nearest-name.ts';
import type { FieldSeen } from './survey.ts';

// BANK_FIELDS compared with what the provider sends: what is missing, and lines that would be right. Pure.

export interface MissingField {
  readonly field: PublishedField;
  /** The name under which the provider probably sends it. */
  readonly nearest: string | undefined;
}

/** The fields of BANK_FIELDS that no entry has, the optional ones included. */
export const findMissing = (
  published: readonly PublishedField[] = [],
  seen: readonly FieldSeen[],
): readonly MissingField[] => {
  const filled = nameable(seen).map(({ name }) => name);
  // Each of the provider's fields is the nearest of one only.
  const unused = new Set(filled.filter((name) => !published.some(({ from }) => from === name)));
  const present = new Set(seen.filter((field) => field.filled > 0).map(({ name }) => name));
  return published
    .filter(({ from }) => !present.has(from))
    .map((field) => {
      const nearest = nearestName(field.from, [...unused]);
      if (nearest !== undefined) unused.delete(nearest);
      return { field, nearest };
    });
};

export interface SuggestedLine {
  readonly label: string;
  /** A ready `BANK_FIELDS=…`. */
  readonly line: string;
}

/**
 * Lines to choose from: the configured fields corrected where one is missing that is not optional; otherwise every field of
 * the provider. A field that some entries lack is marked as optional.
 */
export const suggestLines = (
  published: readonly PublishedField[] = [],
  missing: readonly MissingField[],
  seen: readonly FieldSeen[],
): readonly SuggestedLine[] => {
  const required = missing.filter(({ field }) => !field.isOptional);
  const corrected = published.flatMap((field) => {
    const absent = required.find((candidate) => candidate.field === field);
    const from = absent ? absent.nearest : field.from;
    return from === undefined ? [] : [{ field, from }];
  });
  if (required.length === 0 || corrected.length === 0) return suggestAll(seen);
  const lineWith = (nameOf: (field: PublishedField, from: string) => string): string =>
    toLine(corrected.map(({ field, from }) => toItem({ ...field, from, name: nameOf(field, from) }, seen)));
  const ours = lineWith(({ name }) => name);
  const theirs = lineWith((field, from) => (field.name === field.from ? from : field.name));
  return [
    { label: "Corrected, with the provider's names:", line: theirs },
    ...(ours === theirs ? [] : [{ label: 'Corrected, with the names that pages read now:', line: ours }]),
  ];
};

const suggestAll = (seen: readonly FieldSeen[]): readonly SuggestedLine[] => {
  const fields = nameable(seen);
  if (fields.length === 0) return [];
  const items = fields.map(({ name }) => toItem({ name, from: name, isOptional: false }, seen));
  return [{ label: 'Keep what pages need, in the order in which they should get it:', line: toLine(items) }];
};

const nameable = (seen: readonly FieldSeen[]): readonly FieldSeen[] =>
  seen.filter(({ name, filled }) => isPlainName(name) && filled > 0);

const toItem = ({ name, from, isOptional }: PublishedField, seen: readonly FieldSeen[]): string => {
  const isEverywhere = seen.some((field) => field.name === from && field.filled === 1);
  return `${name === from ? name : `${name}:${from}`}${isOptional || !isEverywhere ? '?' : ''}`;
};

const toLine = (items: readonly string[]): string => `BANK_FIELDS=${items.join(',')}`;
