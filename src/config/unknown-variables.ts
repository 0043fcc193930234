import { lettersApart } from '../letters-apart.ts';
import { spellingsOf, VARIABLE_NAMES } from './variables.ts';

// Finds names in the environment that are not variables of this service but look as if they were meant to be: a typing
// mistake must not pass silently. Pure.

const PREFIXES = ['PROVIDER_', 'CACHE_', 'BANK_', 'GUARD_', 'MANAGEMENT_'];

/** Shorter names, such as HOME and PATH, are within two letters of too many others. */
const SHORTEST_SIMILAR_NAME = 8;
const MOST_LETTERS_APART = 2;

/** A variable of other programs that is two letters away from one of ours. */
const NOT_OURS = 'FTP_PROXY';

/** The variable of this service that `name` probably means: the closest one, one or two letters away. */
export const closestVariable = (name: string): string | undefined => {
  const [closest] = VARIABLE_NAMES.filter(
    (known) => Math.abs(known.length - name.length) <= MOST_LETTERS_APART,
  )
    .map((known) => ({ known, letters: lettersApart(name, known) }))
    .toSorted((a, b) => a.letters - b.letters);
  return closest && closest.letters <= MOST_LETTERS_APART ? closest.known : undefined;
};

export const isUnknownVariable = (name: string): boolean => {
  if (name === NOT_OURS || VARIABLE_NAMES.some((known) => spellingsOf(known).includes(name))) return false;
  if (PREFIXES.some((prefix) => name.startsWith(prefix))) return true;
  return name.length >= SHORTEST_SIMILAR_NAME && closestVariable(name) !== undefined;
};
