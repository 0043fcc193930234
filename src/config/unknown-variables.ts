import { editDistance } from '../edit-distance.ts';
import { VARIABLE_NAMES } from './variables.ts';

// Finds names in the environment that look like variables of this service and are not: a typing mistake must not pass
// silently. Pure.

const PREFIXES = ['PROVIDER_', 'CACHE_', 'BANK_', 'GUARD_', 'MANAGEMENT_'];

/** Shorter names, such as HOME and PATH, are within two letters of too much. */
const SHORTEST_SIMILAR_NAME = 8;

/** Real variables of other programs that are two letters away from one of ours. */
const NOT_OURS = new Set(['FTP_PROXY', 'ftp_proxy']);

/** The closest variable of this service for a name that has one of our prefixes or is one or two letters away. */
export const closestVariable = (name: string): string | undefined => {
  const [closest] = VARIABLE_NAMES.map((known) => ({ known, letters: editDistance(name, known) })).toSorted(
    (a, b) => a.letters - b.letters,
  );
  return closest && closest.letters <= 2 ? closest.known : undefined;
};

export const isUnknownVariable = (name: string): boolean => {
  if (NOT_OURS.has(name) || VARIABLE_NAMES.some((known) => known === name)) return false;
  if (PREFIXES.some((prefix) => name.startsWith(prefix))) return true;
  return name.length >= SHORTEST_SIMILAR_NAME && closestVariable(name) !== undefined;
};
