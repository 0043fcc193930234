import { BRANDS, POPULAR } from './brands.js';

// Finds banks as people type them: by name, brand, code, ISPB and CNPJ, without regard to accents, case and
// punctuation, and with one wrong letter in a word. Pure: a list in, a function from text to ranked hits out.

/**
 * @typedef {import('./bank-picker.js').Bank} Entry
 * @typedef {object} Bank what the picker shows of an entry; an absent field is ''
 * @property {string} id
 * @property {string} code
 * @property {string} name
 * @property {Entry} entry
 * @typedef {readonly [start: number, end: number]} Span of characters that matched
 * @typedef {'name' | 'brand' | 'code' | 'id'} Field
 * @typedef {Readonly<Record<Field, readonly Span[]>>} Marks
 * @typedef {{ readonly bank: Bank, readonly brand: string, readonly marks: Marks }} Hit
 *   `brand` is '' where the name says it already
 * @typedef {{ readonly field: Field | undefined, readonly span: Span, readonly spellings: readonly string[] }} Word
 * @typedef {{ readonly field: Field | undefined, readonly span: Span, readonly tier: number }} Match
 * @typedef {object} Candidate a bank, prepared for the search
 * @property {Bank} bank
 * @property {string} brand
 * @property {readonly Word[]} words
 * @property {readonly string[]} phrases whole names, brands and aliases without spaces
 * @property {number} fame its place in the table of brands
 */

/** How good a match is; a hit is as good as its worst word. */
const TIER = { whole: 0, word: 1, start: 2, ispb: 3, typo: 4, inside: 5 };

/** Words that say nothing about which bank: they may be missing from its name, and help where they are in it. */
const OPTIONAL = new Set(
  'banco bco bank do da de dos das o a e s sa ltda ip bm brasileiro multiplo instituicao pagamento'.split(
    ' ',
  ),
);

/** The list abbreviates what people write out; both find it. */
const LONG_FORMS = new Map([
  ['bco', 'banco'],
  ['br', 'brasil'],
  ['cia', 'companhia'],
  ['coop', 'cooperativa'],
  ['cred', 'credito'],
  ['est', 'estado'],
]);

/** Fewer digits would find an ISPB nearly everywhere, fewer letters the inside of too many words. */
const SHORTEST = { ispb: 3, inside: 3, typo: 3, typoInStart: 5, wordWithTypo: 4 };

const WORDS = /[\p{L}\p{N}\p{M}]+/gu;

/** Lower case without accents: `ITAÚ` and `itau` become the same. */
const fold = (/** @type {string} */ text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
const wordsIn = (/** @type {string} */ text) => fold(text).match(WORDS) ?? [];
const isOptional = (/** @type {string} */ word) => OPTIONAL.has(word);
const isNumber = (/** @type {string} */ word) => /^\d+$/.test(word);

/**
 * Prepares `banks` once and returns the search over them, best hit first; an empty query finds all banks in the
 * list's order. Misspelt words count only where no bank has them as they are.
 * @param {readonly Bank[]} banks
 * @returns {(query: string) => Hit[]}
 */
export const createSearch = (banks) => {
  const candidates = banks.map(toCandidate);
  return (query) => {
    const words = wordsIn(query);
    if (words.length === 0) return query.trim() === '' ? candidates.map((it) => toHit(it, [])) : [];
    const needed = words.filter((word) => !isOptional(word));
    const asked = {
      words,
      needed: needed.length > 0 ? needed : words,
      whole: words.join(''),
      core: needed.join(''),
    };
    const exact = candidates.flatMap((candidate) => judge(candidate, asked, false));
    const isEnough = exact.some(({ tier }) => tier < TIER.typo);
    const found = isEnough ? exact : candidates.flatMap((candidate) => judge(candidate, asked, true));
    return found.toSorted(byRank).map(({ candidate, matches }) => toHit(candidate, matches));
  };
};

/** @param {readonly Hit[]} hits of an empty query */
export const popularFirst = (hits) => {
  const offered = BRANDS.slice(0, POPULAR);
  const popular = offered.flatMap(([ispb]) => hits.find(({ bank }) => bank.id === ispb) ?? []);
  return { popular, others: hits.filter((hit) => !popular.includes(hit)) };
};

/** Whether `query` names this bank and no other: its code, ISPB, whole name, brand or an alias. */
export const isNamed = (/** @type {Bank} */ bank, /** @type {string} */ query) => {
  const words = wordsIn(query);
  const whole = words.join('');
  return whole !== '' && (isItsNumber(bank, whole) || phrasesOf(bank).includes(whole));
};

/** Whether `query` is the whole code or ISPB of this bank. */
export const isItsNumber = (/** @type {Bank} */ { code, id }, /** @type {string} */ query) => {
  const digits = query.replaceAll(/[\s./-]/g, '');
  if (!isNumber(digits)) return false;
  // 33 is how people say 033, and spreadsheets drop an ISPB's zeros. A CNPJ begins with the ISPB.
  return digits.length <= 3
    ? code !== '' && code.padStart(3, '0') === digits.padStart(3, '0')
    : id === (digits.length === 14 ? digits.slice(0, 8) : digits.padStart(8, '0'));
};

const brandOf = (/** @type {Bank} */ { id }) => BRANDS.find(([ispb]) => ispb === id);

/** @returns {string[]} */
const phrasesOf = (/** @type {Bank} */ bank) => {
  const [, ...names] = brandOf(bank) ?? [''];
  return [bank.name, ...names].flatMap((name) => {
    const words = wordsIn(name);
    return [words.join(''), words.filter((word) => !isOptional(word)).join('')];
  });
};

/** @returns {Candidate} */
const toCandidate = (/** @type {Bank} */ bank) => {
  const [, brand = '', ...aliases] = brandOf(bank) ?? [''];
  const inName = new Set(wordsIn(bank.name));
  const shownBrand = wordsIn(brand).every((word) => inName.has(word) || isOptional(word)) ? '' : brand;
  const fame = BRANDS.findIndex(([ispb]) => ispb === bank.id);
  return {
    bank,
    brand: shownBrand,
    words: [
      ...wordsOf(bank.name, 'name'),
      ...wordsOf(shownBrand, 'brand'),
      ...aliases.flatMap((alias) => wordsOf(alias, undefined)),
    ],
    phrases: phrasesOf(bank),
    fame: fame < 0 ? BRANDS.length : fame,
  };
};

/**
 * @param {string} text
 * @param {Field | undefined} field
 * @returns {Word[]}
 */
const wordsOf = (text, field) =>
  [...text.matchAll(WORDS)].map((match) => {
    const spelling = fold(match[0]);
    const longForm = LONG_FORMS.get(spelling);
    return {
      field,
      span: [match.index, match.index + match[0].length],
      spellings: longForm ? [spelling, longForm] : [spelling],
    };
  });

/**
 * @param {Candidate} candidate
 * @param {{ words: readonly string[], needed: readonly string[], whole: string, core: string }} asked
 * @param {boolean} forgives typing errors
 */
const judge = (candidate, { words, needed, whole, core }, forgives) => {
  const { bank, phrases } = candidate;
  const matches = words.flatMap((word) => bestMatch(candidate, word, forgives) ?? []);
  const found = needed.map((word) => bestMatch(candidate, word, forgives));
  const tiers = [
    found.every((match) => match) ? Math.max(...found.map((match) => match?.tier ?? 0)) : Infinity,
  ];
  if (isItsNumber(bank, whole) || phrases.includes(whole) || (core && phrases.includes(core)))
    tiers.push(TIER.whole);
  // "mercadopago", "nu bank": people put spaces anywhere.
  if (whole.length >= SHORTEST.inside && phrases.some((phrase) => phrase.startsWith(whole)))
    tiers.push(TIER.start);
  if (forgives && phrases.some((phrase) => isMisspelt(whole, phrase) || isMisspelt(core, phrase))) {
    tiers.push(TIER.typo);
  }
  const tier = Math.min(...tiers);
  if (tier === Infinity) return [];
  const first = matches.findIndex(({ field, span: [start] }) => field === 'name' && start === 0);
  return [{ candidate, matches, tier, matched: matches.length, startsWithIt: first >= 0 }];
};

/** @typedef {ReturnType<typeof judge>[number]} Judged */

const byRank = (/** @type {Judged} */ a, /** @type {Judged} */ b) =>
  a.tier - b.tier ||
  b.matched - a.matched ||
  a.candidate.fame - b.candidate.fame ||
  Number(b.startsWithIt) - Number(a.startsWithIt);

/**
 * @param {Candidate} candidate
 * @param {string} token
 * @param {boolean} forgives
 * @returns {Match | undefined}
 */
const bestMatch = ({ bank, words }, token, forgives) => {
  const { code, id } = bank;
  if (isNumber(token)) {
    if (isItsNumber(bank, token)) {
      const isCode = token.length <= 3;
      const text = isCode ? code : id;
      const start = isCode ? Math.max(0, code.length - token.length) : 0;
      return { field: isCode ? 'code' : 'id', span: [start, text.length], tier: TIER.word };
    }
    if (code.startsWith(token)) return { field: 'code', span: [0, token.length], tier: TIER.start };
  }
  const word =
    pick(words, token, TIER.word, (spelling) => spelling === token) ??
    pick(words, token, TIER.start, (spelling) => spelling.startsWith(token));
  if (word) return word;
  if (isNumber(token)) {
    return token.length >= SHORTEST.ispb && id.startsWith(token)
      ? { field: 'id', span: [0, token.length], tier: TIER.ispb }
      : undefined;
  }
  return (
    (forgives ? pick(words, token, TIER.typo, (spelling) => isMisspelt(token, spelling)) : undefined) ??
    (token.length >= SHORTEST.inside
      ? pick(words, token, TIER.inside, (spelling) => spelling.includes(token))
      : undefined)
  );
};

/**
 * The first word with a spelling that passes. Its characters are marked, or all of it if they cannot be distinguished:
 * it was found by its long form or with a typing error, or folding changed its length.
 * @param {readonly Word[]} words
 * @param {string} token
 * @param {number} tier
 * @param {(spelling: string) => boolean} passes
 * @returns {Match | undefined}
 */
const pick = (words, token, tier, passes) => {
  const word = words.find(({ spellings }) => spellings.some(passes));
  if (!word) return undefined;
  const [start, end] = word.span;
  const [spelling = ''] = word.spellings;
  const at = spelling.indexOf(token);
  const isPlain = at >= 0 && spelling.length === end - start;
  return { field: word.field, span: isPlain ? [start + at, start + at + token.length] : [start, end], tier };
};

/** Whether `typed` is `word`, or the beginning of it, with one letter wrong, missing, too many or swapped. */
const isMisspelt = (/** @type {string} */ typed, /** @type {string} */ word) => {
  if (typed.length < SHORTEST.typo || word.length < SHORTEST.wordWithTypo) return false;
  if (isOneEditAway(typed, word)) return true;
  const lengths = typed.length < SHORTEST.typoInStart ? [] : [0, 1, -1];
  return lengths.some((more) => isOneEditAway(typed, word.slice(0, typed.length + more)));
};

const isOneEditAway = (/** @type {string} */ a, /** @type {string} */ b) => {
  if (Math.abs(a.length - b.length) > 1 || a === b) return a === b;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const [restOfA, restOfB] = [a.slice(at + 1), b.slice(at + 1)];
  if (a.length > b.length) return restOfA === b.slice(at);
  if (a.length < b.length) return a.slice(at) === restOfB;
  const isSwap = a[at] === b[at + 1] && a[at + 1] === b[at];
  return restOfA === restOfB || (isSwap && a.slice(at + 2) === b.slice(at + 2));
};

/**
 * @param {Candidate} candidate
 * @param {readonly Match[]} matches
 * @returns {Hit}
 */
const toHit = ({ bank, brand }, matches) => {
  const spans = (/** @type {Field} */ field) =>
    matches.filter((match) => match.field === field).map(({ span }) => span);
  return {
    bank,
    brand,
    marks: { name: spans('name'), brand: spans('brand'), code: spans('code'), id: spans('id') },
  };
};

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
