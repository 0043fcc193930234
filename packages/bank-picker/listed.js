import { wordsIn } from './spelling.js';
import { LONG_FORMS } from './words.js';

// Whether a query is a name of the list, or begins one. Its words do not tell by themselves: in BCO DO EST. DO PA S.A. each
// is one that many names have.

/**
 * @typedef {object} Phrase a text as one line of folded words
 * @property {string} line
 * @property {string} letters the same without spaces
 * @property {string} core the line written out, and without the "banco" in front, which people add or leave out
 */

/** How a query and a name of the list agree; a higher number is better. */
export const no = 0;
/** The query is one word, which begins the name: a reason to show the bank, and not to prefer it. */
export const byOneWord = 1;
/** It is the first words of the name, the last of them perhaps half typed. */
export const begun = 2;
/** It is all of the name, or a number of the bank. */
export const complete = 3;

/** Fewer letters begin too many names. */
const SHORTEST_WORD = 5;

/** No name is longer; of a pasted text the rest does not matter. */
const MOST_CHARACTERS = 1_000;

const readable = (/** @type {string} */ text) => wordsIn(text.slice(0, MOST_CHARACTERS));

/** S.A., S/A and SA are one word. */
const lineOf = (/** @type {readonly string[]} */ words) =>
  words.join(' ').replaceAll(/\bs a\b/g, 'sa');

const longFormOf = (/** @type {string} */ word) => LONG_FORMS.get(word)?.[0] ?? word;

const withoutBanco = (/** @type {readonly string[]} */ words) =>
  words[0] === 'banco' ? words.slice(1) : words;

/** @returns {Phrase} */
export const phraseOf = (/** @type {string} */ name) => {
  const words = readable(name);
  return {
    line: lineOf(words),
    letters: words.join(''),
    core: lineOf(withoutBanco(words.map(longFormOf))),
  };
};

/**
 * @param {string} query
 * @returns {(name: Phrase) => number} how a name agrees with the query
 */
export const createListed = (query) => {
  const words = readable(query);
  const line = lineOf(words);
  const letters = words.join('');
  // The last word may be half typed: "est" is no "estado" yet.
  const written = withoutBanco([...words.slice(0, -1).map(longFormOf), ...words.slice(-1)]);
  const core = lineOf(written);
  // "banco s" begins more than names of the list: people type the brands that way, too.
  const found = written.length > 1 ? begun : byOneWord;
  if (letters === '') return () => no;
  return (name) => {
    if (name.letters === letters) return complete;
    if (found === byOneWord && letters.length < SHORTEST_WORD) return no;
    const isBegun = name.line.startsWith(line) || (core !== '' && name.core.startsWith(core));
    return isBegun ? found : no;
  };
};
