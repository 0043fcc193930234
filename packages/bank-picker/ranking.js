import { BRANDS } from './brands.js';
import * as TIER from './tiers.js';

// The order of the hits, as numbers: a list of 50,000 banks is sorted at each key.

/**
 * @typedef {import('./matching.js').Candidate} Candidate
 * @typedef {import('./matching.js').Matches} Matches
 * @typedef {object} Tables what the words of a query match
 * @property {readonly Matches[]} needed
 * @property {readonly Matches[]} joined all words in one
 * @property {readonly Matches[]} optional
 * @property {readonly Matches[]} kinds those of the optional ones that say what the bank is
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

/** Well-known banks whose name begins with the query, other well-known ones, and the rest likewise. */
const PLACES = 2 * BRANDS.length + 2;

/**
 * A candidate's place among the hits, the lowest first.
 * @param {number} at
 * @param {number} rankClass
 * @param {boolean} begins
 * @param {readonly Candidate[]} candidates
 */
const keyOf = (at, rankClass, begins, candidates) => {
  const fame = Math.min(candidates[at]?.fame ?? 0, BRANDS.length);
  const place =
    fame < BRANDS.length
      ? fame + (begins ? 0 : BRANDS.length)
      : 2 * BRANDS.length + (begins ? 0 : 1);
  return (rankClass * PLACES + place) * candidates.length + at;
};

const classOf = (/** @type {number} */ key, /** @type {readonly Candidate[]} */ candidates) =>
  Math.floor(key / (candidates.length * PLACES));

const tierOf = (/** @type {number} */ key, /** @type {readonly Candidate[]} */ candidates) =>
  Math.floor(classOf(key, candidates) / (LESSER * MATCHED));

/**
 * The candidates with every needed word, or with all words written as one.
 * @param {Tables} tables
 * @param {readonly Candidate[]} candidates
 */
export const rankWhole = ({ needed, joined, optional, kinds }, candidates) => {
  /** @type {number[]} */
  const keys = [];
  let best = TIER.none;
  for (let at = 0; at < candidates.length; at += 1) {
    let [tier, matched, begins] = [0, 0, 0];
    let isFormer = false;
    const names = candidates[at]?.names ?? [];
    for (const table of needed) {
      const own = table.tiers[at] ?? TIER.none;
      // One of several words is no whole name.
      tier = Math.max(tier, needed.length > 1 ? Math.max(TIER.word, own) : own);
      if (own === TIER.none) continue;
      matched += 1;
      isFormer ||= names[table.names[at] ?? 0]?.kind === 'former';
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
      isFormer = names[table.names[at] ?? 0]?.kind === 'former';
      begins = table.begins[at] ?? 0;
    }
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
    keys.push(keyOf(at, rankClass, begins > 0, candidates));
  }
  return best < TIER.sound ? keys.filter((key) => tierOf(key, candidates) < TIER.sound) : keys;
};

/**
 * The candidates with those words that say most about which bank is meant.
 * @param {readonly Matches[]} needed
 * @param {readonly Candidate[]} candidates
 */
export const rankParts = (needed, candidates) => {
  const scores = new Float64Array(candidates.length);
  let most = 0;
  let hasUnknown = false;
  for (const [index, { tiers, names, count }] of needed.entries()) {
    const rarity = Math.min(MOST_RARITY, Math.max(1, Math.log2(candidates.length / count)));
    const weight = rarity * (index === 0 ? FIRST_WORD : 1);
    most += weight;
    hasUnknown ||= count === 0;
    for (let at = 0; at < candidates.length; at += 1) {
      const tier = tiers[at] ?? TIER.none;
      if (tier > TIER.errorInStart) continue;
      const isFormer = candidates[at]?.names[names[at] ?? 0]?.kind === 'former';
      const quality =
        tier === TIER.whole ? 1.1 : tier < TIER.start ? 1 : tier < TIER.sound ? 0.8 : 0.6;
      scores[at] = (scores[at] ?? 0) + weight * (isFormer ? 0.8 : 1) * quality;
    }
  }
  const best = scores.reduce((highest, score) => Math.max(highest, score), 0);
  /** @type {number[]} */
  const keys = [];
  if (best === 0 || (hasUnknown && best < most * LEAST_KNOWN)) return keys;
  for (const [at, score] of scores.entries()) {
    if (score < best * LEAST_SHARE) continue;
    const rankClass = PARTS + Math.round(MOST_PARTS * (1 - score / best));
    keys.push(keyOf(at, rankClass, false, candidates));
  }
  return keys;
};

/** Whether it is in the table of brands. */
export const isBrand = (
  /** @type {number} */ key,
  /** @type {readonly Candidate[]} */ candidates,
) => (candidates[key % candidates.length]?.fame ?? 0) < BRANDS.length;

/** Whether a hit has all words without an error, in a name that the bank has today. */
export const isRegular = (
  /** @type {number} */ key,
  /** @type {readonly Candidate[]} */ candidates,
) =>
  tierOf(key, candidates) < TIER.sound &&
  Math.floor(classOf(key, candidates) / MATCHED) % LESSER === 0;

/** Whether the first hit is what the query names: it alone, or it as the well-known one. */
export const namedIn = (
  /** @type {Float64Array} */ sorted,
  /** @type {readonly Candidate[]} */ candidates,
) => {
  const [first = Infinity, second = Infinity] = sorted;
  const isWhole = (/** @type {number} */ key) =>
    isRegular(key, candidates) && tierOf(key, candidates) === TIER.whole;
  return isWhole(first) && (isBrand(first, candidates) || !isWhole(second));
};
