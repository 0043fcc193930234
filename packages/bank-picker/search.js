import { BRANDS, POPULAR } from './brands.js';
import { explain } from './marks.js';
import {
  findExactly,
  findListed,
  findLoosely,
  isNumber,
  ispbOf,
  toCandidate,
  vocabularyOf,
} from './matching.js';
import { brandsOf, isFirstNamed, isListed, isRegular, rankParts, rankWhole } from './ranking.js';
import { queryWords } from './spelling.js';
import * as TIER from './tiers.js';
import { ABOUT, isAlmostBanco, isEmpty, KINDS } from './words.js';

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
 * @typedef {import('./matching.js').Candidate} Candidate
 * @typedef {import('./matching.js').Matches} Matches
 * @typedef {import('./ranking.js').Ranking} Ranking
 * @typedef {import('./ranking.js').Tables} Tables
 */

/** "bancointer", "nextbank": tried without it where no bank has the word as it is. */
const GLUED = [
  { glued: /^(?:banco|bco)(?:d[aeo]s?)?/, least: 3 },
  { glued: /(?:banco|bank|brasil)$/, least: 4 },
];

/** With nothing else to go by, fewer letters begin a word that nearly all names have. */
const SHORTEST_HALF = 5;

/**
 * Prepares `banks` once and returns the search over them, best hit first; an empty query finds all banks in the
 * list's order. Words are corrected only where no bank has all of them as they are, and left out only after that.
 * @param {readonly Bank[]} banks
 * @returns {(query: string) => readonly Hit[]}
 */
export const createSearch = (banks) => {
  const candidates = banks.map(toCandidate);
  const vocabulary = vocabularyOf(candidates);
  /** @type {readonly Hit[]} */
  const all = candidates.map((it) => ({
    bank: it.bank,
    kind: 'found',
    explain: () => explain(it, [], undefined),
  }));
  /** What the last query's words matched: a further letter changes only one word. @type {Map<string, Matches>} */
  let known = new Map();

  return (query) => {
    const words = queryWords(query);
    if (words.length === 0) return query.trim() === '' ? all : [];
    /** @type {Map<string, Matches>} */
    const kept = new Map();
    const recall = (/** @type {string} */ key, /** @type {() => Matches} */ find) => {
      const matches = kept.get(key) ?? known.get(key) ?? find();
      kept.set(key, matches);
      return matches;
    };
    const needed = neededOf(words);
    const halfTyped = halfTypedOf(words, needed);
    const exactly = (/** @type {string} */ word) => {
      const isHalfTyped = word === halfTyped;
      return recall(isHalfTyped ? `${word}-` : word, () =>
        findExactly(word, candidates, vocabulary, isHalfTyped),
      );
    };
    const loosely = (/** @type {string} */ word) => {
      const inner = GLUED.flatMap(({ glued, least }) => {
        const rest = word.replace(glued, '');
        return rest !== word && rest.length >= least ? [rest] : [];
      });
      const found = [word, ...inner].find((it) => exactly(it).count > 0);
      if (found) return exactly(found);
      const withErrors = (/** @type {string} */ it) =>
        recall(`${it}?`, () => findLoosely(it, candidates, vocabulary));
      return [word, ...inner].map(withErrors).find(({ count }) => count > 0) ?? withErrors(word);
    };

    // An optional letter would match nearly everything.
    const optional = words.filter((word) => !needed.includes(word) && word.length > 1).map(exactly);
    const kinds = words.filter((word) => !needed.includes(word) && KINDS.has(word)).map(exactly);
    // People put spaces anywhere: "mercadopago", "nu bank".
    const core = words.filter((word) => !isEmpty(word)).join('');
    const joined = new Set(words.length > 1 ? [words.join(''), core] : []);
    if (needed.length > 1) joined.add(needed.join(''));
    joined.delete('');

    const asTyped = {
      needed: needed.map(exactly),
      joined: [...joined].map(exactly),
      listed: findListed(query, words, candidates),
    };
    /** With errors, a name of the list is no different from others. */
    const listed = new Uint8Array(candidates.length);
    const notBanco = needed.filter((word) => !isAlmostBanco(word));

    const findWhole = (/** @type {Omit<Tables, 'optional' | 'kinds'>} */ matches) => {
      const tables = { ...matches, optional, kinds };
      return { tables, ranking: rankWhole(tables, candidates) };
    };
    const findCorrected = () => {
      const meant = needed.filter((word) => exactly(word).count > 0 || !isAlmostBanco(word));
      // Words that some banks have are hardly parts of one that is misspelt.
      const isJoined =
        words.length > 1 && core !== '' && asTyped.needed.some(({ count }) => count === 0);
      return findWhole({
        needed: (meant.length > 0 ? meant : needed).map(loosely),
        joined: isJoined ? [loosely(core)] : [],
        listed,
      });
    };
    /** "banvo do brasil", though there is a Banvox. */
    const findWithoutBanco = () =>
      notBanco.length > 0 && notBanco.length < needed.length
        ? findWhole({ needed: notBanco.map(loosely), joined: [], listed })
        : undefined;
    /** "pague seguro": a well-known name, though both words are in others. */
    const findJoinedBrand = () => {
      if (needed.length === 1) return undefined;
      const found = findWhole({ needed: [loosely(needed.join(''))], joined: [], listed });
      return { ...found, ranking: brandsOf(found.ranking, candidates) };
    };
    const findParts = (/** @type {Tables} */ { needed: parts }) => {
      const tables = { needed: parts, joined: [], listed, optional, kinds };
      return { tables, ranking: rankParts(parts, candidates) };
    };

    let found = findWhole(asTyped);
    if (isNothing(found)) found = findCorrected();
    if (isNothing(found)) found = findWithoutBanco() ?? found;
    if (isNothing(found)) {
      const brand = findJoinedBrand();
      found = brand && !isNothing(brand) ? brand : findParts(found.tables);
    }
    known = kept;
    return toHits(found, candidates, words);
  };
};

/**
 * @typedef {object} Found by one way to read a query
 * @property {Tables} tables
 * @property {Ranking} ranking
 */

const isNothing = (/** @type {Found} */ { ranking }) => ranking.order.length === 0;

/**
 * @param {Found} found
 * @param {readonly Candidate[]} candidates
 * @param {readonly string[]} words
 */
const toHits = ({ tables, ranking }, candidates, words) => {
  /** @returns {Kind} */
  const kindOf = (/** @type {number} */ at) => (isRegular(ranking, at) ? 'found' : 'guessed');
  const otherName = (/** @type {number} */ at, /** @type {Candidate} */ candidate) =>
    isListed(ranking.listed[at]) ? undefined : nameFound(candidate, at, tables);
  /** @type {Hit[]} */
  const hits = [];
  for (const at of ranking.order) {
    const candidate = candidates[at];
    if (!candidate) continue;
    hits.push({
      bank: candidate.bank,
      kind: kindOf(at),
      explain: () => explain(candidate, words, otherName(at, candidate)),
    });
  }
  const [first] = hits;
  if (first && isFirstNamed(ranking, candidates)) hits[0] = { ...first, kind: 'named' };
  return hits;
};

/** @param {readonly Hit[]} hits of an empty query */
export const popularFirst = (hits) => {
  const byIspb = new Map(hits.map((hit) => [ispbOf(hit.bank), hit]));
  const popular = BRANDS.slice(0, POPULAR).flatMap(([ispb]) => byIspb.get(ispb) ?? []);
  const isPopular = new Set(popular);
  return { popular, others: hits.filter((hit) => !isPopular.has(hit)) };
};

/** The words that a bank must have. */
const neededOf = (/** @type {readonly string[]} */ words) => {
  const needed = words.filter((word) => !isEmpty(word) && !KINDS.has(word) && !ABOUT.has(word));
  if (needed.length > 0) return needed;
  // "banco s": the beginning of a name, not of S.A.
  return words.slice(words.at(-1)?.length === 1 ? -1 : 0);
};

/**
 * The word typed last, where it may be the beginning of a word that many names have: "picpay ban", "estad".
 * @param {readonly string[]} words
 * @param {readonly string[]} needed
 */
const halfTypedOf = (words, needed) => {
  const last = words.at(-1) ?? '';
  if (last !== needed.at(-1) || isNumber(last)) return '';
  return needed.length > 1 || last.length >= SHORTEST_HALF ? last : '';
};

/**
 * The name that was found and that people do not see: an alias or an old one.
 * @param {Candidate} candidate
 * @param {number} at
 * @param {Tables} tables
 */
const nameFound = ({ names }, at, { needed, joined }) => {
  const isWhole = needed.every(({ tiers }) => tiers[at] !== TIER.none);
  for (const { tiers, names: found } of isWhole ? needed : [...joined, ...needed]) {
    const name = tiers[at] === TIER.none ? undefined : names[found[at] ?? 0];
    if (name?.kind === 'alias' || name?.kind === 'former') return name;
  }
  return undefined;
};
