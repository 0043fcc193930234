import {
  isNumber,
  SHORTEST_ERROR,
  SHORTEST_INSIDE,
  SHORTEST_ISPB,
  tierWithErrors,
} from './matching.js';
import { placedWordsIn, soundOf, wordsIn } from './spelling.js';
import * as TIER from './tiers.js';
import { EMPTY, isEmpty, LONG_FORMS } from './words.js';

// Why a bank is a hit: the name that explains it, and which characters matched. Only for the hits that are drawn.

/**
 * @typedef {import('./search.js').Explanation} Explanation
 * @typedef {import('./search.js').Field} Field
 * @typedef {import('./search.js').Span} Span
 * @typedef {import('./matching.js').Candidate} Candidate
 * @typedef {import('./matching.js').Name} Name
 */

/**
 * @param {Candidate} candidate
 * @param {readonly string[]} words
 * @param {Name | undefined} found
 * @returns {Explanation}
 */
export const explain = ({ bank, ispb, names }, words, found) => {
  const inName = placedWordsIn(bank.name);
  const isSaid = (/** @type {string} */ text) =>
    wordsIn(text).every((word) => EMPTY.has(word) || inName.some((it) => it.word === word));
  const brand = names.find(({ kind }) => kind === 'brand');
  const { text = '', until = 0 } = [found, brand].find((name) => name && !isSaid(name.text)) ?? {};
  /** @type {Record<Field, Span[]>} */
  const marks = { name: [], brand: [], code: [], ispb: [] };
  // A letter typed last may begin a name, but "s a" is S.A.
  const last = words.at(-2) === 's' ? undefined : words.length - 1;
  for (const [at, word] of words.entries()) {
    const where =
      markNumber(bank.code, ispb, word) ??
      markWord(
        [
          ['name', inName],
          ['brand', placedWordsIn(text)],
        ],
        word,
        at === last,
      );
    if (where) marks[where.field].push(where.span);
  }
  return { brand: text, until, marks };
};

/**
 * @param {string} code
 * @param {string} ispb
 * @param {string} word
 * @returns {{ field: Field, span: Span } | undefined}
 */
const markNumber = (code, ispb, word) => {
  if (!isNumber(word)) return undefined;
  const digits = word.replace(/^0+(?=\d)/, '');
  if (code !== '' && Number(code) === Number(word) && word.length < 8) {
    return {
      field: 'code',
      span: [Math.max(0, code.length - Math.max(word.length, digits.length)), code.length],
    };
  }
  if (code.startsWith(word)) return { field: 'code', span: [0, word.length] };
  if (word.length < SHORTEST_ISPB) return undefined;
  if (ispb.startsWith(word)) return { field: 'ispb', span: [0, word.length] };
  return word.padStart(8, '0') === ispb || word.startsWith(ispb)
    ? { field: 'ispb', span: [0, ispb.length] }
    : undefined;
};

/**
 * The first word that matches, best kind of match first. Its characters are marked, or all of it if they cannot be
 * told apart: it was found by its long form or with an error, or folding changed its length.
 * @param {readonly (readonly ['name' | 'brand', ReturnType<typeof placedWordsIn>])[]} texts
 * @param {string} typed
 * @param {boolean} mayBegin whether it may begin a name even if it is a letter that is a word of many names
 * @returns {{ field: Field, span: Span } | undefined}
 */
const markWord = (texts, typed, mayBegin) => {
  const sound = soundOf(typed);
  const isWord = (/** @type {string} */ word) => word === typed;
  const begins = (/** @type {string} */ word) => word.startsWith(typed) && !EMPTY.has(word);
  const isInMany = typed.length === 1 && EMPTY.has(typed);
  /** @type {((word: string) => boolean)[]} */
  const tests = isInMany ? [isWord] : [isWord, begins];
  // The search finds no bank by the S of S.A.: a name that begins with S explains the hit.
  if (isInMany && mayBegin) tests.unshift(begins);
  if (mayBegin) tests.push((word) => word.startsWith(typed));
  tests.push((word) => LONG_FORMS.get(word)?.some((form) => form.startsWith(typed)) === true);
  if (typed.length >= SHORTEST_ERROR && !isEmpty(typed)) {
    tests.push((word) => {
      const other = soundOf(word);
      if (sound === other || tierWithErrors(sound, other) < TIER.none) return true;
      return tierWithErrors(typed, word) < TIER.none;
    });
  }
  if (typed.length >= SHORTEST_INSIDE) tests.push((word) => word.includes(typed));
  for (const test of tests) {
    for (const [field, words] of texts) {
      const found = words.find(({ word }) => test(word));
      if (!found) continue;
      const { word, start, end } = found;
      const at = word.indexOf(typed);
      const isPlain = at >= 0 && word.length === end - start;
      return { field, span: isPlain ? [start + at, start + at + typed.length] : [start, end] };
    }
  }
  return undefined;
};

/** The first letters of the first two words that say which bank it is: MP of MERCADO PAGO IP LTDA. */
export const initialsOf = (/** @type {string} */ name) =>
  placedWordsIn(name)
    .filter(({ word }) => !EMPTY.has(word))
    .slice(0, 2)
    .map(({ start }) => name.charAt(start).toUpperCase())
    .join('');

/**
 * Cuts `text` into marked and unmarked pieces, in order. Spans that overlap, or have only spaces between them, become one.
 * @param {string} text
 * @param {readonly Span[]} spans
 * @returns {{ text: string, marked: boolean }[]}
 */
export const pieces = (text, spans) => {
  const result = [];
  let at = 0;
  for (const [start, end] of spans.toSorted((a, b) => a[0] - b[0])) {
    if (end <= at) continue;
    const last = result.at(-1);
    if (last?.marked && text.slice(at, start).trim() === '') last.text += text.slice(at, end);
    else {
      if (start > at) result.push({ text: text.slice(at, start), marked: false });
      result.push({ text: text.slice(Math.max(start, at), end), marked: true });
    }
    at = end;
  }
  if (at < text.length) result.push({ text: text.slice(at), marked: false });
  return result;
};
