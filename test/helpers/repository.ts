import { readFileSync } from 'node:fs';

/** The text of a file of the repository. */
export const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
