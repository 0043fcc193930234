import { differByOne, placedWordsIn, soundOf } from './spelling.js';
import { COMMON } from './words.js';

// Which characters of a hit matched. Only for the hits that are drawn.

/**
 * @typedef {import('./search.js').Field} Field
 * @typedef {import('./search.js').Span} Span
 */

/**
 * For each word of the query the first place that matches, the best kind of match first. Of a word with an error all
 * is marked.
 * @param {Readonly<Record<Field, string>>} texts
 * @param {readonly string[]} words
 * @returns {Record<Field, Span[]>}
 */
export const marksOf = (texts, words) => {
  /** @type {Record<Field, Span[]>} */
  const marks = { name: [], brand: [], code: [], ispb: [] };
  /** @type {Field[]} */
  const fields = ['code', 'ispb', 'name', 'brand'];
  const places = fields.flatMap((field) =>
    placedWordsIn(texts[field]).map((place) => ({ ...place, field })),
  );
  for (const typed of words) {
    const isNumber = /^\d+$/.test(typed);
    /** @type {((word: string, field: Field) => boolean)[]} */
    const tests = [
      (word) => word === typed,
      (word, field) => field === 'code' && Number(word) === Number(typed),
      (word, field) => field === 'ispb' && isNumber && typed.startsWith(word),
      (word) => word.startsWith(typed) && !COMMON.has(word),
      (word, field) => !isNumber && field !== 'ispb' && typed.length > 3 && word.includes(typed),
      (word) =>
        !isNumber &&
        typed.length > 3 &&
        (soundOf(word) === soundOf(typed) || differByOne(word, typed)),
    ];
    const found = tests
      .map((test) => places.find(({ word, field }) => test(word, field)))
      .find((place) => place !== undefined);
    if (!found) continue;
    const { field, word, start, end } = found;
    const at = word.indexOf(typed);
    const isPlain = at >= 0 && word.length === end - start;
    marks[field].push(isPlain ? [start + at, start + at + typed.length] : [start, end]);
  }
  return marks;
};

/** The first letters of the first two words that say which bank it is: MP of MERCADO PAGO IP LTDA. */
export const initialsOf = (/** @type {string} */ name) =>
  placedWordsIn(name)
    .filter(({ word }) => !COMMON.has(word))
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
