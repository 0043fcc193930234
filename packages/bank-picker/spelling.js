// Words as people write them: without accents and case, by their sound, and with typing errors. Knows no bank.

const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** A CNPJ or the beginning of one may be written with signs, and a code with its check digit. */
const WORD_OR_NUMBER =
  /\d{1,3}(?:\.\d{1,3})+(?:\/\d{1,4}(?:-\d{1,2})?)?|\d{8}\/\d{1,4}(?:-\d{1,2})?|\d{3}-\d(?!\d)|[\p{L}\p{N}\p{M}]+/gu;

/** More than any name or pasted sentence about a bank needs; what is longer is cut. */
const MOST_CHARACTERS = 160;
const MOST_WORDS = 16;

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

/** The words of a query. Numbers lose their signs, and a bank's code the check digit of boletos: 341-7 is 341. */
export const queryWords = (/** @type {string} */ query) => {
  const found = fold(query.slice(0, MOST_CHARACTERS)).match(WORD_OR_NUMBER) ?? [];
  return found
    .slice(0, MOST_WORDS)
    .map((word) => (/^\d{3}-\d$/.test(word) ? word.slice(0, 3) : word.replaceAll(/[./-]/g, '')));
};

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

/** `caicha` and `caixa`, `noobank` and `nubank`, `asas` and `asaas` sound the same. */
export const soundOf = (/** @type {string} */ word) =>
  SOUNDS.reduce((sound, [spelling, letter]) => sound.replace(spelling, letter), word);

/** A bit for each letter of a word. */
export const lettersOf = (/** @type {string} */ word) => {
  let letters = 0;
  for (let at = 0; at < word.length; at += 1) letters |= 1 << (word.charCodeAt(at) & 31);
  return letters;
};

/** Whether the other word lacks at most so many letters of `typed`: each is an error, and this is quick to see. */
export const lacksAtMost = (
  /** @type {number} */ most,
  /** @type {number} */ typed,
  /** @type {number} */ other,
) => {
  let lacking = typed & ~other;
  for (let count = 0; count < most; count += 1) lacking &= lacking - 1;
  return lacking === 0;
};

/** Longer words are not compared: a pasted text is no misspelt name. */
const LONGEST_WITH_ERRORS = 40;
const ROW = LONGEST_WITH_ERRORS + 4;
const TOO_MANY = 9;
/** The last three rows of the table of distances, used again: one comparison is over before the next begins. */
let before = new Uint8Array(ROW);
let above = new Uint8Array(ROW);
let current = new Uint8Array(ROW);

/**
 * How many letters are wrong, missing, too many or swapped with the next one (optimal string alignment): in `typed` for
 * the whole `word`, and for that beginning of it which fits best. More than `most`, at most 2, is Infinity.
 * @param {string} typed
 * @param {string} word
 * @param {number} most
 */
export const errorsIn = (typed, word, most) => {
  const width = Math.min(word.length, typed.length + most);
  let least = typed.length > LONGEST_WITH_ERRORS ? Infinity : 0;
  for (let at = 0; at <= most; at += 1) above[at] = at;
  above[most + 1] = TOO_MANY;
  for (let row = 1; row <= typed.length && least <= most; row += 1) {
    // Further from the diagonal there are more errors than `most`.
    const from = Math.max(1, row - most);
    const to = Math.min(width, row + most);
    current[from - 1] = from === 1 ? row : TOO_MANY;
    current[to + 1] = TOO_MANY;
    least = current[from - 1] ?? 0;
    for (let at = from; at <= to; at += 1) {
      const isSame = typed[row - 1] === word[at - 1];
      let errors = Math.min(above[at] ?? 0, current[at - 1] ?? 0) + 1;
      errors = Math.min(errors, (above[at - 1] ?? 0) + (isSame ? 0 : 1));
      if (row > 1 && at > 1 && typed[row - 1] === word[at - 2] && typed[row - 2] === word[at - 1]) {
        errors = Math.min(errors, (before[at - 2] ?? 0) + 1);
      }
      current[at] = errors;
      least = Math.min(least, errors);
    }
    [before, above, current] = [above, current, before];
  }
  if (least > most) return { whole: Infinity, start: Infinity };
  const whole = word.length > width ? Infinity : (above[width] ?? Infinity);
  return { whole: whole > most ? Infinity : whole, start: least };
};
