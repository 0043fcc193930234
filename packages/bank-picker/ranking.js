import { BRANDS } from './brands.js';
import * as LISTED from './listed.js';
import * as TIER from './tiers.js';

// The order of the hits, as numbers: a list of 50,000 banks is sorted at each key.

/**
 * @typedef {import('./matching.js').Candidate} Candidate
 * @typedef {import('./matching.js').Matches} Matches
 * @typedef {object} Tables what the words of a query match
 * @property {readonly Matches[]} needed
 * @property {readonly Matches[]} joined all words in one
 * @property {readonly Matches[]} optional
 * @property {Uint8Array} listed by candidate: how the list's name agrees with the query
 * @property {readonly Matches[]} kinds those of the optional ones that say what the bank is
 * @typedef {object} Ranking
 * @property {readonly number[]} order which candidates are hits, the best one first
 * @property {Uint8Array} tiers by candidate, of the hits
 * @property {Uint8Array} listed by candidate: how the list's name agrees with the query
 * @property {Uint8Array} formers by candidate: 1 where a name that the bank no longer has was found
 */

/** Where no bank has every word: who has less than this share of what the best one has is no hit. */
const LEAST_SHARE = 0.8;

/** "wise brasil", with a word that no bank has: less than this share of what all words say names no bank. */
const LEAST_KNOWN = 0.4;

/** Rarer words do not say more about which bank is meant. */
const MOST_RARITY = 6;

/** The first word is more often the name than the others are. */
const FIRST_WORD = 1.3;

/** What decides first, before fame and place in the list. */
const LESSER = 4;
const MATCHED = 32;
const PARTS = 10_000;
const MOST_PARTS = 2_000;

/** A name of the list that the query is, or begins, comes before all others: more than there are classes of those. */
const CLASSES = 2_048;

/** Well-known banks whose name begins with the query, other well-known ones, and the rest likewise. */
const PLACES = 2 * BRANDS.length + 2;

/**
 * A hit's place in the order: by class, then fame, then place in the list. Only `at` is taken out of it again.
 * @param {number} at
 * @param {number} rankClass
 * @param {boolean} begins
 * @param {readonly Candidate[]} candidates
 */
const keyOf = (at, rankClass, begins, candidates) => {
  const fame = candidates[at]?.fame ?? 0;
  const [first, then] =
    fame < BRANDS.length ? [fame, BRANDS.length + fame] : [PLACES - 2, PLACES - 1];
  return (rankClass * PLACES + (begins ? first : then)) * candidates.length + at;
};

/**
 * Which candidates these keys are of, the best one first.
 * @param {readonly number[]} keys
 * @param {readonly Candidate[]} candidates
 */
const inOrder = (keys, { length }) =>
  Array.from(Float64Array.from(keys).toSorted(), (key) => key % length);

/**
 * Whether the name of a candidate that matched is one that the bank no longer has.
 * @param {Pick<Matches, 'names'>} matches
 * @param {number} at
 * @param {readonly Candidate[]} candidates
 */
const hasFormerName = ({ names }, at, candidates) =>
  candidates[at]?.names[names[at] ?? 0]?.kind === 'former';

/** @returns {Ranking} */
const noHits = (/** @type {number} */ candidates) => ({
  order: [],
  tiers: new Uint8Array(candidates).fill(TIER.none),
  listed: new Uint8Array(candidates),
  formers: new Uint8Array(candidates),
});

/**
 * The candidates with every needed word, or with all words written as one.
 * @param {Tables} tables
 * @param {readonly Candidate[]} candidates
 * @returns {Ranking}
 */
export const rankWhole = ({ needed, joined, optional, kinds, listed }, candidates) => {
  const ranking = { ...noHits(candidates.length), listed };
  /** @type {number[]} */
  const keys = [];
  let best = TIER.none;
  for (let at = 0; at < candidates.length; at += 1) {
    let [tier, matched, begins] = [0, 0, 0];
    let isFormer = false;
    for (const table of needed) {
      const own = table.tiers[at] ?? TIER.none;
      // One of several words is no whole name.
      tier = Math.max(tier, needed.length > 1 ? Math.max(TIER.word, own) : own);
      if (own === TIER.none) continue;
      matched += 1;
      isFormer ||= hasFormerName(table, at, candidates);
      begins ||= table.begins[at] ?? 0;
    }
    // It is of another kind than the query says.
    if (tier < TIER.word && kinds.some(({ tiers }) => tiers[at] === TIER.none)) {
      tier = tier === TIER.whole ? TIER.word : TIER.start;
    }
    for (const table of joined) {
      const own = table.tiers[at] ?? TIER.none;
      if (own >= tier) continue;
      tier = own;
      isFormer = hasFormerName(table, at, candidates);
      begins = table.begins[at] ?? 0;
    }
    const agreement = listed[at] ?? LISTED.no;
    if (agreement === LISTED.complete) tier = TIER.whole;
    else if (agreement !== LISTED.no) tier = Math.min(tier, TIER.weak);
    if (isListed(agreement)) isFormer = false;
    if (tier === TIER.none) continue;
    // People misspell the names of today more often than old ones.
    if (isFormer && tier >= TIER.sound && tier <= TIER.errorInStart) {
      tier = tier === TIER.sound ? TIER.error : TIER.errors;
    }
    for (const table of optional) if ((table.tiers[at] ?? TIER.none) < TIER.none) matched += 1;
    best = Math.min(best, tier);
    const isMiddle = tier >= TIER.sound && begins === 0;
    const lesser = tier * LESSER + Number(isFormer) * 2 + Number(isMiddle);
    const rankClass = lesser * MATCHED + (MATCHED - 1 - matched);
    const group = LISTED.complete - (isListed(agreement) ? agreement : LISTED.no);
    keys.push(keyOf(at, group * CLASSES + rankClass, begins > 0, candidates));
    ranking.tiers[at] = tier;
    ranking.formers[at] = Number(isFormer);
  }
  const order = inOrder(keys, candidates);
  const isWithoutError = (/** @type {number} */ at) =>
    (ranking.tiers[at] ?? TIER.none) < TIER.sound;
  return { ...ranking, order: best < TIER.sound ? order.filter(isWithoutError) : order };
};

/**
 * The candidates with those words that say most about which bank is meant.
 * @param {readonly Matches[]} needed
 * @param {readonly Candidate[]} candidates
 * @returns {Ranking} in which no hit is regular
 */
export const rankParts = (needed, candidates) => {
  const scores = new Float64Array(candidates.length);
  let most = 0;
  let hasUnknown = false;
  for (const [index, table] of needed.entries()) {
    const rarity = Math.min(MOST_RARITY, Math.max(1, Math.log2(candidates.length / table.count)));
    const weight = rarity * (index === 0 ? FIRST_WORD : 1);
    most += weight;
    hasUnknown ||= table.count === 0;
    for (let at = 0; at < candidates.length; at += 1) {
      const tier = table.tiers[at] ?? TIER.none;
      if (tier > TIER.errorInStart) continue;
      const share = hasFormerName(table, at, candidates) ? 0.8 : 1;
      scores[at] = (scores[at] ?? 0) + weight * share * qualityOf(tier);
    }
  }
  const best = scores.reduce((highest, score) => Math.max(highest, score), 0);
  const none = noHits(candidates.length);
  if (best === 0 || (hasUnknown && best < most * LEAST_KNOWN)) return none;
  /** @type {number[]} */
  const keys = [];
  for (const [at, score] of scores.entries()) {
    if (score < best * LEAST_SHARE) continue;
    const rankClass = PARTS + Math.round(MOST_PARTS * (1 - score / best));
    keys.push(keyOf(at, rankClass, false, candidates));
  }
  return { ...none, order: inOrder(keys, candidates) };
};

/** Whether the query is the list's name, or several words at the beginning of it. */
export const isListed = (/** @type {number | undefined} */ agreement) =>
  (agreement ?? LISTED.no) >= LISTED.begun;

/** What a word says that matches in this tier. */
const qualityOf = (/** @type {number} */ tier) => {
  if (tier === TIER.whole) return 1.1;
  if (tier < TIER.start) return 1;
  return tier < TIER.sound ? 0.8 : 0.6;
};

/** Whether it is in the table of brands. */
const isBrand = (/** @type {Candidate | undefined} */ candidate) =>
  (candidate?.fame ?? 0) < BRANDS.length;

/**
 * The hits that are in the table of brands.
 * @param {Ranking} ranking
 * @param {readonly Candidate[]} candidates
 * @returns {Ranking}
 */
export const brandsOf = (ranking, candidates) => ({
  ...ranking,
  order: ranking.order.filter((at) => isBrand(candidates[at])),
});

/** Whether a hit has all words without an error, in a name that the bank has today. */
export const isRegular = (/** @type {Ranking} */ { tiers, formers }, /** @type {number} */ at) =>
  (tiers[at] ?? TIER.none) < TIER.sound && formers[at] === 0;

/**
 * Whether the first hit is what the query names: it alone, or it as the well-known one. Beside a name of the list that the
 * query is, or begins, other names do not count.
 * @param {Ranking} ranking
 * @param {readonly Candidate[]} candidates
 */
export const isFirstNamed = (ranking, candidates) => {
  const [first = -1, second = -1] = ranking.order;
  const { tiers, listed } = ranking;
  const isWhole = (/** @type {number} */ at) => tiers[at] === TIER.whole && isRegular(ranking, at);
  const isAlone = !isWhole(second) || (isListed(listed[first]) && listed[first] !== listed[second]);
  if (listed[first] === LISTED.complete) return isAlone;
  return isWhole(first) && (isAlone || isBrand(candidates[first]));
};
