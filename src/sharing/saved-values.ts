import type { MonotonicMs } from '../clock.ts';

// What a store may hold, where it is JSON: untrusted, so each value has a type and a bound.

/** The moment of a write or a read, by the clock of the store and by this replica's. */
export interface Moment {
  /** Milliseconds since 1970, by the store's clock; by this machine's for a snapshot. */
  readonly storeMs: number;
  readonly nowMs: MonotonicMs;
}

/** About 30,000 years: more than any age, and far below what a double holds exactly. */
export const MAX_DURATION_MS = 1e15;

/** The last moment that ISO 8601 writes with a four-digit year. */
export const MAX_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export const toSavedTime = (ms: number): number => Math.max(0, Math.round(ms));

export const isWholeUpTo = (max: number, value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;

export const isText = (maxChars: number, value: unknown): value is string =>
  typeof value === 'string' && value.length <= maxChars;

/**
 * An id that this service makes, or an empty one. It is written as one byte for each character,
 * also outside of JSON.
 */
export const isId = (value: unknown): value is string =>
  isText(64, value) && /^[\w-]*$/.test(value);

export const toList = (value: unknown, max: number): readonly unknown[] =>
  Array.isArray(value) ? value.slice(0, max) : [];
