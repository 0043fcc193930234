// Words as people write them: without accents and case, by their sound, and with a typing error. Knows no bank.

const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** A CNPJ or the beginning of one may be written with signs, and a code with its check digit: 341-7 is 341. */
const NUMBER_WITH_SIGNS =
  /\d{1,3}(?:\.\d{1,3})+(?:\/\d{1,4}(?:-\d{1,2})?)?|\d{8}\/\d{1,4}(?:-\d{1,2})?/g;
const CHECK_DIGIT = /\b(\d{3})-\d\b/g;

/** More than any name of a bank needs; a pasted text is cut. */
const MOST_CHARACTERS = 160;

/** Lower case without accents: `ITAÚ` and `itau` become the same. */
const fold = (/** @type {string} */ text) =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/** The words of a name, folded. */
export const wordsIn = (/** @type {string} */ text) => fold(text).match(WORD) ?? [];

/**
 * The same, with the place of each in the text, which folding may make longer or shorter.
 * @param {string} text
 * @returns {{ word: string, start: number, end: number }[]}
 */
export const placedWordsIn = (text) =>
  Array.from(text.matchAll(WORD), ({ 0: word, index }) => ({
    word: fold(word),
    start: index,
    end: index + word.length,
  }));

/** The words of a query. */
export const queryWords = (/** @type {string} */ query) =>
  wordsIn(
    query
      .slice(0, MOST_CHARACTERS)
      .replaceAll(NUMBER_WITH_SIGNS, (number) => number.replaceAll(/\D/g, ''))
      .replaceAll(CHECK_DIGIT, '$1'),
  );

/** Spellings that Brazilians confuse because they sound alike, or that they know from English. */
const SOUNDS = /** @type {const} */ ([
  [/ph/g, 'f'],
  [/[cs]h/g, 'x'],
  [/[ck]k|[qk]u?(?=[ei])|[qk]|c(?![eiy])/g, 'k'],
  [/oo/g, 'u'],
  [/ee|y/g, 'i'],
  [/[cz]/g, 's'],
  [/w/g, 'v'],
  [/m(?![aeiou])/g, 'n'],
  [/h/g, ''],
  [/l$/g, 'u'],
  [/(.)\1+/g, '$1'],
]);

/** Of the words of a list, which are asked for at each key. */
const MOST_SOUNDS = 20_000;
/** @type {Map<string, string>} */
const sounds = new Map();

/** `caicha` and `caixa`, `noobank` and `nubank`, `asas` and `asaas` sound the same. */
export const soundOf = (/** @type {string} */ word) => {
  const known = sounds.get(word);
  if (known !== undefined) return known;
  const sound = SOUNDS.reduce((text, [spelling, letter]) => text.replace(spelling, letter), word);
  if (sounds.size >= MOST_SOUNDS) sounds.clear();
  sounds.set(word, sound);
  return sound;
};

/**
 * Whether two words differ by one letter: wrong, missing, too many, or swapped with the next one.
 * @param {string} one
 * @param {string} other
 */
export const differByOne = (one, other) => {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at += 1;
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1);
  if (short.slice(at + 1) === long.slice(at + 1)) return true;
  const isSwapped = short[at] === long[at + 1] && short[at + 1] === long[at];
  return isSwapped && short.slice(at + 2) === long.slice(at + 2);
};
