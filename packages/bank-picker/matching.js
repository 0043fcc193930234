import { BRANDS, FORMER_NAMES } from './brands.js';
import * as LISTED from './listed.js';
import { errorsIn, lacksAtMost, lettersOf, soundOf, wordsIn } from './spelling.js';
import * as TIER from './tiers.js';
import { ABOUT, EMPTY, KINDS, LONG_FORMS } from './words.js';

// Which banks have a word, and how well. The words of all names are indexed: a key costs one pass over the different
// words, however many banks have them.

/**
 * @typedef {import('./search.js').Bank} Bank
 * @typedef {{ readonly text: string, readonly kind: 'list' | 'brand' | 'alias' | 'former', readonly until: number }} Name
 * @typedef {object} Candidate a bank, prepared for the search
 * @property {Bank} bank
 * @property {string} ispb or another id, in a list without ISPBs
 * @property {readonly Name[]} names the list's, the brand, the others
 * @property {import('./listed.js').Phrase} listed the list's name as a whole
 * @property {number} fame its place in the table of brands; the table's length for those that are not in it
 * @typedef {'word' | 'phrase' | 'beginning' | 'alias'} Role
 *   `phrase`: a whole name in one word; `beginning`: one that people begin to type; `alias`: the same, of an alias
 * @typedef {{ readonly candidate: number, readonly name: number, readonly role: Role }} Place where a spelling occurs
 * @typedef {object} Spelling a word, or a whole name in one word
 * @property {string} text
 * @property {string} sound
 * @property {Place[]} places
 * @typedef {object} Vocabulary
 * @property {readonly Spelling[]} spellings
 * @property {Int32Array} letters of each text: one look at them rules most out
 * @property {Int32Array} soundLetters of each sound
 * @property {ReadonlyMap<string, readonly Spelling[]>} byFirstLetter
 * @typedef {object} Matches of one word with all candidates
 * @property {Uint8Array} tiers by candidate
 * @property {Uint8Array} names by candidate: which of its names matched
 * @property {Uint8Array} begins by candidate: 1 where a name of it begins with the word
 * @property {number} count of candidates that match
 */

/** Fewer digits would find an ISPB nearly everywhere, fewer letters the inside of too many words. */
export const SHORTEST_ISPB = 3;
export const SHORTEST_INSIDE = 4;
export const SHORTEST_ERROR = 3;
const SHORTEST_ERROR_IN_START = 5;
const SHORTEST_ERRORS = 6;

/** So many of the brands get the benefit of the doubt. */
const BEST_KNOWN = 20;

export const isNumber = (/** @type {string} */ word) => /^\d+$/.test(word);

const ROWS = new Map(BRANDS.map(([ispb, names], fame) => [ispb, { names, fame }]));
const FORMER = new Map(FORMER_NAMES);

/**
 * A bank's ISPB, whichever field the page uses as the value; where the list has none, that value. As a number it has lost
 * its first zeros.
 */
export const ispbOf = (/** @type {Pick<Bank, 'id' | 'entry'>} */ { id, entry }) => {
  const { ispb = '' } = /** @type {{ readonly ispb?: unknown }} */ (entry ?? {});
  const digits = typeof ispb === 'number' || typeof ispb === 'string' ? String(ispb).trim() : '';
  return /^\d{1,8}$/.test(digits) ? digits.padStart(8, '0') : id;
};

/** @returns {Candidate} */
export const toCandidate = (/** @type {Bank} */ bank) => {
  const ispb = ispbOf(bank);
  const { names: [brand, ...aliases] = [], fame = BRANDS.length } = ROWS.get(ispb) ?? {};
  /** @type {Name[]} */
  const names = [{ text: bank.name, kind: 'list', until: 0 }];
  if (brand) names.push({ text: brand, kind: 'brand', until: 0 });
  for (const text of aliases) names.push({ text, kind: 'alias', until: 0 });
  for (const name of FORMER.get(ispb) ?? [])
    names.push({ text: name.slice(0, -5), kind: 'former', until: Number(name.slice(-4)) });
  return { bank, ispb, names, listed: LISTED.phraseOf(bank.name), fame };
};

/** @returns {Vocabulary} */
export const vocabularyOf = (/** @type {readonly Candidate[]} */ candidates) => {
  /** @type {Map<string, Spelling>} */
  const spellings = new Map();
  const add = (/** @type {readonly string[]} */ words, /** @type {Place} */ place) => {
    const text = words.join('');
    let spelling = spellings.get(text);
    if (!spelling) {
      // Sounds are joined, since in a list each word is in many names.
      const sound = words.length === 1 ? soundOf(text) : words.map(soundsLike).join('');
      spelling = { text, sound, places: [] };
      spellings.set(text, spelling);
    }
    spelling.places.push(place);
  };
  const soundsLike = (/** @type {string} */ word) => spellings.get(word)?.sound ?? soundOf(word);
  for (const [candidate, { names }] of candidates.entries()) {
    for (const [name, { text, kind }] of names.entries()) {
      const words = wordsIn(text);
      if (words.length === 0) continue;
      for (const word of words) {
        for (const form of [word, ...(LONG_FORMS.get(word) ?? [])])
          add([form], { candidate, name, role: 'word' });
      }
      const core = words.filter((word) => !EMPTY.has(word));
      const role = kind === 'alias' ? 'alias' : 'beginning';
      add(core.length > 0 ? core : words, { candidate, name, role });
      // In a brand "Banco" is part of it, as in Banco do Brasil; in the list it begins every second name.
      if (kind !== 'list') add(words, { candidate, name, role });
      if (core.some((word) => LONG_FORMS.has(word))) {
        add(
          core.map((word) => LONG_FORMS.get(word)?.[0] ?? word),
          { candidate, name, role: 'phrase' },
        );
      }
    }
  }
  const all = [...spellings.values()];
  /** @type {Map<string, Spelling[]>} */
  const byFirstLetter = new Map(all.map(({ text }) => [text.charAt(0), []]));
  for (const spelling of all) byFirstLetter.get(spelling.text.charAt(0))?.push(spelling);
  return {
    spellings: all,
    letters: Int32Array.from(all, ({ text }) => lettersOf(text)),
    soundLetters: Int32Array.from(all, ({ sound }) => lettersOf(sound)),
    byFirstLetter,
  };
};

/** @returns {Matches} */
const noMatches = (/** @type {number} */ candidates) => ({
  tiers: new Uint8Array(candidates).fill(TIER.none),
  names: new Uint8Array(candidates),
  begins: new Uint8Array(candidates),
  count: 0,
});

/**
 * Keeps the better match of a candidate, and of equal ones that with the name that stands first.
 * @param {Matches} matches
 * @param {Place} place
 * @param {number} tier
 */
const note = (matches, { candidate, name, role }, tier) => {
  const { tiers, names, begins } = matches;
  const before = tiers[candidate] ?? TIER.none;
  if (role === 'phrase' || role === 'beginning') begins[candidate] = 1;
  if (tier > before || (tier === before && name >= (names[candidate] ?? 0))) return;
  if (before === TIER.none) matches.count += 1;
  tiers[candidate] = tier;
  names[candidate] = name;
};

/**
 * @param {Place} place of a spelling that is the word, or begins with it
 * @param {string} spelling
 * @param {string} word
 * @param {readonly Candidate[]} candidates
 */
const tierOf = ({ candidate, name, role }, spelling, word, candidates) => {
  const { names = [], fame = BRANDS.length } = candidates[candidate] ?? {};
  const isKnown = fame < BRANDS.length;
  // One or two letters are the name of a well-known bank, or the beginning of one.
  const isShort = word.length <= 2;
  const kind = names[name]?.kind;
  if (spelling === word) {
    const isName = role !== 'word' && (!isShort || (isKnown && kind !== 'list'));
    return isName ? TIER.whole : TIER.word;
  }
  if (isShort && isKnown && (role === 'beginning' || role === 'alias')) {
    return kind === 'brand' ? TIER.beginning : TIER.otherBeginning;
  }
  // "pag": PagBank before all that have "pagamentos" in their names.
  return role === 'word' && KINDS.has(spelling) ? TIER.weak : TIER.start;
};

/**
 * @param {string} word
 * @param {readonly Candidate[]} candidates
 * @param {Vocabulary} vocabulary
 * @param {boolean} isHalfTyped whether it may be the beginning of any word, also of one that many names have
 */
export const findExactly = (word, candidates, vocabulary, isHalfTyped) => {
  const matches = noMatches(candidates.length);
  for (const { text, places } of vocabulary.byFirstLetter.get(word.charAt(0)) ?? []) {
    if (!text.startsWith(word)) continue;
    const isEmpty = EMPTY.has(text) && (text !== word || word.length === 1);
    for (const place of places) {
      const isCommon = isEmpty && place.role === 'word';
      // By itself "ban" begins every second name, and "s" is in every S.A.
      if (isCommon && !isHalfTyped) continue;
      note(matches, place, isCommon ? TIER.weak : tierOf(place, text, word, candidates));
    }
  }
  if (isNumber(word)) findNumber(word, candidates, matches);
  return matches;
};

/**
 * How each name of the list agrees with the complete query, and whether a number is the bank's.
 * @param {string} query
 * @param {readonly string[]} words
 * @param {readonly Candidate[]} candidates
 */
export const findListed = (query, words, candidates) => {
  const listed = LISTED.createListed(query);
  const [word = ''] = words;
  const isOwn = words.length === 1 && isNumber(word) ? createIsNumberOf(word) : () => false;
  const agreements = new Uint8Array(candidates.length);
  for (const [at, candidate] of candidates.entries())
    agreements[at] = isOwn(candidate) ? LISTED.complete : listed(candidate.listed);
  return agreements;
};

/**
 * Tells whether a code, an ISPB or a CNPJ is a bank's.
 * @returns {(candidate: Candidate) => boolean}
 */
const createIsNumberOf = (/** @type {string} */ digits) => {
  // 33 and 0033 are how people say 033, and spreadsheets drop an ISPB's zeros. A CNPJ begins with the ISPB.
  const code = digits.length < 8 ? digits.replace(/^0+(?=\d{3})/, '').padStart(3, '0') : '';
  const ids = [digits];
  if (digits.length > 3) ids.push(digits.padStart(8, '0'));
  if (digits.length > 8) ids.push(digits.slice(0, 8), digits.padStart(14, '0').slice(0, 8));
  return ({ bank, ispb }) =>
    (bank.code !== '' && bank.code.padStart(3, '0') === code) || ids.includes(ispb);
};

/**
 * @param {string} digits
 * @param {readonly Candidate[]} candidates
 * @param {Matches} matches
 */
const findNumber = (digits, candidates, matches) => {
  const isNumberOf = createIsNumberOf(digits);
  for (const [at, candidate] of candidates.entries()) {
    const { bank, ispb } = candidate;
    const place = /** @type {const} */ ({ candidate: at, name: 0, role: 'word' });
    if (isNumberOf(candidate)) note(matches, place, TIER.whole);
    else if (bank.code.startsWith(digits)) note(matches, place, TIER.start);
    else if (digits.length >= SHORTEST_ISPB && ispb.startsWith(digits))
      note(matches, place, TIER.weak);
  }
};

/**
 * @param {string} word
 * @param {readonly Candidate[]} candidates
 * @param {Vocabulary} vocabulary
 */
export const findLoosely = (word, candidates, vocabulary) => {
  const matches = noMatches(candidates.length);
  if (isNumber(word) || word.length < SHORTEST_ERROR) return matches;
  const typed = { word, sound: soundOf(word) };
  const letters = lettersOf(word);
  const soundLetters = lettersOf(typed.sound);
  for (const [at, spelling] of vocabulary.spellings.entries()) {
    const own = vocabulary.letters[at] ?? 0;
    const ownSound = vocabulary.soundLetters[at] ?? 0;
    const misheard = lacksAtMost(mostErrorsIn(typed.sound), soundLetters, ownSound);
    const mistyped = lacksAtMost(mostErrorsIn(word), letters, own);
    const inFront = lacksAtMost(0, own, letters);
    if ((!misheard && !mistyped && !inFront) || EMPTY.has(spelling.text)) continue;
    const inside = word.length >= SHORTEST_INSIDE && lacksAtMost(0, letters, own);
    const tier = looseTierOf(spelling, typed, { misheard, mistyped, inside });
    const isFront = tier > TIER.errors && inFront && isInFront(spelling.text, word);
    if (tier === TIER.none && !isFront) continue;
    for (const place of spelling.places) {
      const { fame = 0 } = candidates[place.candidate] ?? {};
      // "secred": Sicredi, not Socred.
      if (tier === TIER.errorInStart && fame < BEST_KNOWN && word.length >= SHORTEST_ERRORS) {
        note(matches, place, TIER.error);
      } else if (isFront && place.role !== 'word') {
        // Only whole names: "transferwise" is no Trans.
        note(matches, place, TIER.errors);
      } else note(matches, place, tier);
    }
  }
  return matches;
};

/**
 * The best way in which a spelling is what was typed.
 * @param {Spelling} spelling
 * @param {{ readonly word: string, readonly sound: string }} typed
 * @param {{ readonly misheard: boolean, readonly mistyped: boolean, readonly inside: boolean }} mayBe
 *   what the letters alone do not rule out
 */
const looseTierOf = ({ text, sound }, typed, mayBe) => {
  if (sound === typed.sound) return TIER.sound;
  let tier = TIER.none;
  // "zzqqx" sounds nearly like HSCM.
  if (mayBe.misheard && typed.sound.length > SHORTEST_ERROR)
    tier = tierWithErrors(typed.sound, sound);
  // "cixa": one letter changes the sound of another.
  if (mayBe.mistyped && tier > TIER.error) tier = Math.min(tier, tierWithErrors(typed.word, text));
  if (mayBe.inside && tier > TIER.inside && text.includes(typed.word)) return TIER.inside;
  return tier;
};

/** "itaucard", "nubankcartao": a name with something behind it. */
const isInFront = (/** @type {string} */ text, /** @type {string} */ word) =>
  text.length >= SHORTEST_INSIDE &&
  word.startsWith(text) &&
  ![EMPTY, KINDS, ABOUT].some((words) => words.has(text));

const mostErrorsIn = (/** @type {string} */ typed) => (typed.length < SHORTEST_ERRORS ? 1 : 2);

/** How good a match two words or two sounds are. */
export const tierWithErrors = (/** @type {string} */ typed, /** @type {string} */ word) => {
  if (typed.length < SHORTEST_ERROR || word.length < SHORTEST_ERROR) return TIER.none;
  // "wise" is no VIS.
  if (word.length === SHORTEST_ERROR && typed.length > word.length) return TIER.none;
  const hasSwappedStart = typed[0] === word[1] && typed[1] === word[0];
  const hasSameStart = typed[0] === word[0] || hasSwappedStart;
  // With another first letter, one error is all that counts.
  const most = hasSameStart ? mostErrorsIn(typed) : 1;
  const mayBeStart = hasSameStart && typed.length >= SHORTEST_ERROR_IN_START;
  if (!mayBeStart && Math.abs(typed.length - word.length) > most) return TIER.none;
  const { whole, start } = errorsIn(typed, word, most);
  if (hasSameStart && whole === 1) return TIER.error;
  // "safta" is Safra rather than the beginning of Santander.
  if (start <= 1 && mayBeStart) return TIER.errorInStart;
  // People begin a name right more often than not.
  const isClose = hasSameStart ? whole === 2 : whole === 1 && typed.length > SHORTEST_ERROR;
  return isClose ? TIER.errors : TIER.none;
};
