import { BRANDS, FORMER_NAMES, POPULAR } from './brands.js';
import { marksOf } from './marks.js';
import { differByOne, queryWords, soundOf, wordsIn } from './spelling.js';
import { COMMON, EMPTY } from './words.js';

// Finds banks as people type them: by name, brand, old name, code, ISPB and CNPJ. Pure: a list in, a function from text
// to ranked hits out.

/**
 * @typedef {import('./bank-picker.js').Bank} Entry
 * @typedef {object} Bank what the picker shows of an entry; an absent field is ''
 * @property {string} id the value of the field
 * @property {string} code
 * @property {string} name
 * @property {string} [logo] its address; absent where the list has no logos
 * @property {Entry} entry
 * @typedef {object} Hit
 * @property {Bank} bank
 * @property {Kind} kind
 * @property {() => Explanation} explain
 * @typedef {'named' | 'found' | 'guessed'} Kind
 *   `named`: the query is all of a name or number; `guessed`: with errors, by a part of the query, or by an old name
 * @typedef {object} Explanation
 * @property {string} brand a name besides the list's: the one that was found or the brand; '' where the list's says it
 * @property {number} until the last year of that name; 0 where it is in use
 * @property {Readonly<Record<Field, readonly Span[]>>} marks
 * @typedef {'name' | 'brand' | 'code' | 'ispb'} Field
 * @typedef {readonly [start: number, end: number]} Span of characters that matched
 * @typedef {object} Name
 * @property {string} text
 * @property {number} until the last year; 0 where it is in use
 * @property {readonly string[]} words
 * @property {readonly string[]} joined the whole name in one word, with and without empty words
 * @typedef {object} Candidate a bank, prepared for the search
 * @property {Bank} bank
 * @property {string} ispb or another id, in a list without ISPBs
 * @property {readonly Name[]} names the list's first, then the brand and other ones
 * @property {number} fame its place in the table of brands; the table's length for those that are not in it
 * @typedef {object} Match
 * @property {Candidate} candidate
 * @property {number} quality
 * @property {Name | undefined} name the one that was found
 * @property {number} extra words of the query that the name lacks
 */

/** How well a query matches, best first: a match is as good as its worst word. */
/** The name in the list, a code or an ISPB. */
const EXACT = -1;
const COMPLETE = 0;
const WORDS = 1;
const BEGINNINGS = 2;
const INSIDE = 4;
const SIMILAR = 6;
const PART = 9;
const NOTHING = 10;
/** Added where the bank no longer has the name. */
const OLD_NAME = 1.5;

/** Shorter words are found by too much if they may be amid a word, or differ in a letter. */
const SHORTEST_SIMILAR = 4;
/** Fewer digits are a code. */
const SHORTEST_ISPB = 4;

const FAME = new Map(BRANDS.map(([ispb], place) => [ispb, place]));
const BRAND_NAMES = new Map(BRANDS);
const OLD_NAMES = new Map(FORMER_NAMES);

/**
 * Prepares `banks` once and returns the search over them, best hit first; an empty query finds all banks in the
 * list's order. Errors are allowed only where no bank has all words, and words left out only after that.
 * @param {readonly Bank[]} banks
 * @returns {(query: string) => readonly Hit[]}
 */
export const createSearch = (banks) => {
  const candidates = banks.map(toCandidate);
  return (query) => {
    const words = queryWords(query);
    if (words.length === 0) return query.trim() === '' ? candidates.map((it) => hitOf(it)) : [];
    for (const [read, hasErrors] of readingsOf(words)) {
      const matches = find(read, candidates, hasErrors);
      if (matches.length > 0) return toHits(matches, words);
    }
    // "bradesco exclusive": the first word is most often the name.
    const parts = find(neededOf(words).slice(0, 1), candidates, false);
    return toHits(
      parts.map((it) => ({ ...it, quality: PART })),
      words,
    );
  };
};

/**
 * What the words may mean, the likeliest first: as they are, without "banco" ("bancointer", "nextbank"), with an error.
 * @param {readonly string[]} words
 * @returns {readonly (readonly [words: readonly string[], hasErrors: boolean])[]}
 */
const readingsOf = (words) => {
  const without = words.map(withoutBanco);
  return [
    [words, false],
    [without, false],
    [words, true],
    [without, true],
  ];
};

const withoutBanco = (/** @type {string} */ word) =>
  word.replace(/^(?:banco|bco)(?=.{3})|(?<=.{4})(?:banco|bank|brasil|cartao|card)$/g, '');

/** The words that a bank must have. */
const neededOf = (/** @type {readonly string[]} */ words) => {
  const needed = words.filter((word) => !COMMON.has(word));
  return needed.length > 0 ? needed : words;
};

/**
 * Those that are found amid a word only where there are no others.
 * @param {readonly string[]} words
 * @param {readonly Candidate[]} candidates
 * @param {boolean} hasErrors
 */
const find = (words, candidates, hasErrors) => {
  const needed = neededOf(words);
  const matches = candidates.map((it) => matchOf(it, words, needed, hasErrors));
  const limit = matches.some(({ quality }) => quality < INSIDE) ? INSIDE : NOTHING;
  return matches.filter(({ quality }) => quality < limit);
};

/** @param {readonly Hit[]} hits of an empty query */
export const popularFirst = (hits) => {
  const byIspb = new Map(hits.map((hit) => [ispbOf(hit.bank), hit]));
  const popular = BRANDS.slice(0, POPULAR).flatMap(([ispb]) => byIspb.get(ispb) ?? []);
  const isPopular = new Set(popular);
  return { popular, others: hits.filter((hit) => !isPopular.has(hit)) };
};

/**
 * A bank's ISPB, whichever field the page uses as the value; where the list has none, that value. As a number it has lost
 * its first zeros.
 */
export const ispbOf = (/** @type {Pick<Bank, 'id' | 'entry'>} */ { id, entry }) => {
  const { ispb = '' } = /** @type {{ readonly ispb?: unknown }} */ (entry ?? {});
  const digits = typeof ispb === 'number' || typeof ispb === 'string' ? String(ispb).trim() : '';
  return /^\d{1,8}$/.test(digits) ? digits.padStart(8, '0') : id;
};

/** The name that people use; '' where the list's says it. */
export const brandOf = (/** @type {Bank} */ bank) => hitOf(toCandidate(bank)).explain().brand;

/** @returns {Candidate} */
const toCandidate = (/** @type {Bank} */ bank) => {
  const ispb = ispbOf(bank);
  const inUse = [bank.name, ...(BRAND_NAMES.get(ispb) ?? [])].map((text) => nameOf(text, 0));
  const old = (OLD_NAMES.get(ispb) ?? []).map((it) =>
    nameOf(it.slice(0, -5), Number(it.slice(-4))),
  );
  return { bank, ispb, names: [...inUse, ...old], fame: FAME.get(ispb) ?? BRANDS.length };
};

/**
 * @param {string} text
 * @param {number} until
 * @returns {Name}
 */
const nameOf = (text, until) => {
  const words = wordsIn(text);
  const core = words.filter((word) => !EMPTY.has(word)).join('');
  return { text, until, words, joined: [words.join(''), core] };
};

/**
 * @param {Candidate} candidate
 * @param {readonly string[]} words of the query
 * @param {readonly string[]} needed those that the bank must have
 * @param {boolean} hasErrors
 * @returns {Match}
 */
const matchOf = (candidate, words, needed, hasErrors) => {
  const number = words.join('');
  if (/^\d+$/.test(number) && qualityOfNumber(candidate, number) === EXACT)
    return { candidate, quality: EXACT, name: candidate.names[0], extra: 0 };
  // People put spaces anywhere: "mercadopago", "nu bank".
  const joined = [number, words.filter((word) => !EMPTY.has(word)).join('')];
  /** @type {Match} */
  let match = { candidate, quality: NOTHING, name: undefined, extra: 0 };
  const [listed] = candidate.names;
  if (listed?.joined[0] === joined[0]) return { candidate, quality: EXACT, name: listed, extra: 0 };
  for (const name of candidate.names) {
    const quality =
      Math.min(
        qualityOfWhole(name, joined, hasErrors),
        qualityOfWords(candidate, name, needed, hasErrors),
      ) + (name.until > 0 ? OLD_NAME : 0);
    const extra = words.filter((word) => !name.words.some((it) => it.startsWith(word))).length;
    if (quality < match.quality || (quality === match.quality && extra < match.extra))
      match = { candidate, quality, name, extra };
  }
  return match;
};

/**
 * @param {Name} name
 * @param {readonly string[]} queries
 * @param {boolean} hasErrors
 */
const qualityOfWhole = ({ joined }, queries, hasErrors) => {
  const pairs = queries.flatMap((query) => joined.map((whole) => [query, whole]));
  const some = (/** @type {(query: string, whole: string) => boolean} */ test) =>
    pairs.some(([query = '', whole = '']) => query !== '' && whole !== '' && test(query, whole));
  if (some((query, whole) => query === whole)) return COMPLETE;
  if (some((query, whole) => whole.startsWith(query))) return WORDS;
  if (hasErrors && some(isSimilar)) return SIMILAR;
  return NOTHING;
};

/**
 * @param {Candidate} candidate
 * @param {Name} name
 * @param {readonly string[]} needed
 * @param {boolean} hasErrors
 */
const qualityOfWords = (candidate, name, needed, hasErrors) =>
  Math.max(
    ...needed.map((word) =>
      /^\d+$/.test(word)
        ? Math.min(
            Math.max(WORDS, qualityOfNumber(candidate, word)),
            qualityOfWord(name, word, false),
          )
        : qualityOfWord(name, word, hasErrors),
    ),
  );

/**
 * @param {Name} name
 * @param {string} typed
 * @param {boolean} hasErrors
 */
const qualityOfWord = ({ words }, typed, hasErrors) => {
  if (words.includes(typed)) return typed.length > 2 ? WORDS : BEGINNINGS;
  if (words.some((word) => word.startsWith(typed) && (typed.length > 1 || !COMMON.has(word))))
    return BEGINNINGS;
  if (typed.length >= SHORTEST_SIMILAR && words.some((word) => word.includes(typed))) return INSIDE;
  return hasErrors && words.some((word) => isSimilar(typed, word)) ? SIMILAR : NOTHING;
};

/** "bradezco", "bradescc": also while the word is typed. */
const isSimilar = (/** @type {string} */ typed, /** @type {string} */ word) =>
  Math.min(typed.length, word.length) >= SHORTEST_SIMILAR &&
  (differByOne(typed, word) ||
    differByOne(typed, word.slice(0, typed.length)) ||
    soundOf(typed) === soundOf(word));

/**
 * @param {Candidate} candidate
 * @param {string} digits
 */
const qualityOfNumber = ({ bank: { code }, ispb }, digits) => {
  if (code !== '' && digits.length < 8 && Number(code) === Number(digits)) return EXACT;
  if (digits.length >= SHORTEST_ISPB) {
    // A CNPJ begins with the ISPB.
    if (digits.padStart(8, '0') === ispb) return EXACT;
    if (digits.length > 8 && [digits, digits.padStart(14, '0')].some((it) => it.startsWith(ispb)))
      return EXACT;
    if (ispb.startsWith(digits)) return BEGINNINGS;
  }
  return code.startsWith(digits) ? BEGINNINGS : NOTHING;
};

/**
 * @param {readonly Match[]} matches
 * @param {readonly string[]} words
 */
const toHits = (matches, words) => {
  const sorted = matches.toSorted(
    (one, other) =>
      one.quality - other.quality ||
      one.extra - other.extra ||
      one.candidate.fame - other.candidate.fame,
  );
  const [first = { quality: NOTHING }, second = { quality: NOTHING }] = sorted;
  const isAlone = first.quality < second.quality;
  const isBrand = first.quality === COMPLETE && (sorted[0]?.candidate.fame ?? 0) < BRANDS.length;
  const isNamed = first.quality <= COMPLETE && (isAlone || isBrand);
  return sorted.map((match, at) => {
    const isRegular = match.quality < INSIDE && match.name?.until === 0;
    const kind = at === 0 && isNamed ? 'named' : isRegular ? 'found' : 'guessed';
    return hitOf(match.candidate, kind, words, match.name);
  });
};

/**
 * @param {Candidate} candidate
 * @param {Kind} [kind]
 * @param {readonly string[]} [words]
 * @param {Name} [found]
 * @returns {Hit}
 */
const hitOf = ({ bank, ispb, names }, kind = 'found', words = [], found) => ({
  bank,
  kind,
  explain: () => {
    const [listed, brand] = names;
    const isShown = (/** @type {Name} */ { words: said }) =>
      said.every((word) => COMMON.has(word) || listed?.words.includes(word));
    const isBrand = brand?.until === 0;
    const shown = [found, isBrand ? brand : undefined].find((name) => name && !isShown(name));
    const other = shown?.text ?? '';
    const marks = marksOf({ name: bank.name, brand: other, code: bank.code, ispb }, words);
    return { brand: other, until: shown?.until ?? 0, marks };
  },
});
