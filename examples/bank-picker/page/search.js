// Finds banks by code, ISPB and name as people type them: without regard to accents, case and punctuation, and
// with the words that the list abbreviates. Pure: a list in, a function from text to ranked hits out.

/**
 * @typedef {{ readonly code: string, readonly ispb: string, readonly name: string }} Bank an absent field is ''
 * @typedef {readonly [start: number, end: number]} Span of characters that matched
 * @typedef {{ readonly bank: Bank, readonly code: readonly Span[], readonly ispb: readonly Span[], readonly name: readonly Span[] }} Hit
 * @typedef {{ readonly field: 'code' | 'ispb' | 'name', readonly span: Span, readonly rank: number }} Match
 * @typedef {{ readonly span: Span, readonly spellings: readonly string[] }} Word
 */

/** Lower case without accents: `ITAÚ` and `itau` become the same. */
const fold = (/** @type {string} */ text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

const WORDS = /[\p{L}\p{N}\p{M}]+/gu;

/** The provider writes BCO where people say banco; both find it. */
const LONG_FORMS = new Map([
  ['bco', 'banco'],
  ['cia', 'companhia'],
  ['coop', 'cooperativa'],
  ['cred', 'credito'],
]);

/** Lower is better; a hit's rank is the sum over the words of the query. */
const RANK = { exactCode: 0, code: 1, firstWord: 20, word: 21, ispb: 22, inside: 40 };

/** Fewer digits than this would find an ISPB nearly everywhere. */
const SHORTEST_ISPB = 3;

/**
 * Prepares `banks` once and returns the search over them. Every word of the query must be found; an empty query
 * finds all banks. Equal hits keep the list's order.
 * @param {readonly Bank[]} banks
 * @returns {(query: string) => Hit[]}
 */
export const createSearch = (banks) => {
  const entries = banks.map((bank) => ({ bank, words: wordsOf(bank.name) }));
  return (query) => {
    const tokens = fold(query).match(WORDS) ?? [];
    if (tokens.length === 0 && query.trim() !== '') return [];
    const hits = [];
    for (const { bank, words } of entries) {
      const matches = tokens.map((token) => bestMatch(bank, words, token));
      if (matches.every((match) => match !== undefined)) {
        hits.push({ hit: toHit(bank, matches), rank: matches.reduce((sum, { rank }) => sum + rank, 0) });
      }
    }
    return hits.toSorted((a, b) => a.rank - b.rank).map(({ hit }) => hit);
  };
};

/** @returns {Word[]} */
const wordsOf = (/** @type {string} */ name) =>
  [...name.matchAll(WORDS)].map((match) => {
    const spelling = fold(match[0]);
    const longForm = LONG_FORMS.get(spelling);
    return {
      span: [match.index, match.index + match[0].length],
      spellings: longForm ? [spelling, longForm] : [spelling],
    };
  });

/**
 * @param {Bank} bank
 * @param {readonly Word[]} words
 * @param {string} token
 * @returns {Match | undefined}
 */
const bestMatch = (bank, words, token) => {
  const isNumber = /^\d+$/.test(token);
  if (isNumber && bank.code !== '') {
    // 33 is how people say 033.
    const zeros = bank.code.length - token.length;
    if (bank.code.padStart(3, '0') === token.padStart(3, '0')) {
      return { field: 'code', span: [Math.max(0, zeros), bank.code.length], rank: RANK.exactCode };
    }
    if (bank.code.startsWith(token)) return { field: 'code', span: [0, token.length], rank: RANK.code };
  }
  const started = words.findIndex(({ spellings }) =>
    spellings.some((spelling) => spelling.startsWith(token)),
  );
  const word = words[started];
  if (word) {
    return {
      field: 'name',
      span: spanIn(word, 0, token),
      rank: started === 0 ? RANK.firstWord : RANK.word,
    };
  }
  if (isNumber && token.length >= SHORTEST_ISPB && bank.ispb.startsWith(token)) {
    return { field: 'ispb', span: [0, token.length], rank: RANK.ispb };
  }
  const holder = token.length > 1 && words.find(({ spellings }) => spellings.some((s) => s.includes(token)));
  if (!holder) return undefined;
  const at = holder.spellings.findIndex((spelling) => spelling.includes(token));
  const offset = at === 0 ? (holder.spellings[0]?.indexOf(token) ?? 0) : 0;
  return { field: 'name', span: spanIn(holder, offset, token), rank: RANK.inside };
};

/**
 * Where `token` stands in the name. The whole word is marked when its characters cannot be told apart one by one:
 * it was found by its long form, or folding changed its length.
 * @param {Word} word
 * @param {number} offset
 * @param {string} token
 * @returns {Span}
 */
const spanIn = ({ span: [start, end], spellings: [spelling = ''] }, offset, token) =>
  spelling.startsWith(token, offset) && spelling.length === end - start
    ? [start + offset, start + offset + token.length]
    : [start, end];

/**
 * @param {Bank} bank
 * @param {readonly Match[]} matches
 * @returns {Hit}
 */
const toHit = (bank, matches) => {
  const spans = (/** @type {Match['field']} */ field) =>
    matches.filter((match) => match.field === field).map(({ span }) => span);
  return { bank, code: spans('code'), ispb: spans('ispb'), name: spans('name') };
};

/**
 * Cuts `text` into marked and unmarked pieces, in order. Spans that overlap, or have only blanks between them, become one.
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
      result.push({ text: text.slice(start, end), marked: true });
    }
    at = end;
  }
  if (at < text.length) result.push({ text: text.slice(at), marked: false });
  return result;
};
