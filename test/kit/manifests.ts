import { readFileSync } from 'node:fs';

// For tests of YAML and text files: reading them, and reading values of unknown shape.

/** The text of a file of the repository. */
export const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** `value` at `path`; undefined where there is none. */
export const at = (value: unknown, ...path: (string | number)[]): unknown => {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return at(Object.entries(value).find(([name]) => name === String(key))?.[1], ...rest);
};
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
