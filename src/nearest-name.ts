// Which of the known names a name probably means. Pure.

/**
 * Words for the same thing, in English, Portuguese and Spanish. The first one stands for all of
 * them.
 */
const SYNONYMS = [
  ['code', 'codigo', 'cod', 'compe', 'number', 'numero'],
  ['name', 'nome', 'nombre'],
  ['full', 'completo', 'long', 'legal'],
  ['short', 'reduzido', 'curto', 'corto', 'abreviado'],
  ['bank', 'banco', 'institution', 'instituicao', 'institucion'],
  ['type', 'tipo'],
  ['site', 'website', 'url', 'web'],
  ['logo', 'logotipo', 'icon', 'icone'],
  ['document', 'documento', 'cnpj'],
  ['country', 'pais'],
  ['active', 'ativo', 'activo'],
  ['updated', 'atualizado', 'actualizado'],
] as const;

const STANDARD_WORD: ReadonlyMap<string, string> = new Map(
  SYNONYMS.flatMap(([standard, ...others]) => others.map((word) => [word, standard] as const)),
);

/**
 * The one of the provider's field names `candidates` that `name` probably means; undefined where
 * none resembles it.
 */
export const nearestName = (name: string, candidates: readonly string[]): string | undefined =>
  closest(candidates, (candidate) => distance(name, candidate));

/** The candidate with the smallest distance; undefined where every distance is infinite. */
export const closest = <C extends string>(
  candidates: readonly C[],
  distanceTo: (candidate: C) => number,
): C | undefined => {
  const [nearest] = candidates
    .map((candidate) => ({ candidate, distance: distanceTo(candidate) }))
    .filter((scored) => scored.distance < Infinity)
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.candidate;
};

/**
 * How many letters must be added, removed or replaced to make `a` into `b` (the Levenshtein
 * distance); Infinity if they are more than `most`, which is found out without reading all of them.
 */
export const lettersApart = (a: string, b: string, most = Infinity): number => {
  if (Math.abs(a.length - b.length) > most) return Infinity;
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
    if (Math.min(...current) > most) return Infinity;
  }
  const letters = above[b.length] ?? 0;
  return letters <= most ? letters : Infinity;
};

/**
 * 0: differs in case, accents or separators only; 1: a translation; then by letters; then by a
 * common word.
 */
const distance = (name: string, candidate: string): number => {
  const [words, others] = [wordsOf(name), wordsOf(candidate)];
  const [plain, other] = [words.join(''), others.join('')];
  if (plain === other) return 0;
  const [meaning, otherMeaning] = [standardWords(words), standardWords(others)];
  if (meaning.toSorted().join() === otherMeaning.toSorted().join()) return 1;
  // Letters in the wrong order are one mistake.
  const letters = sorted(plain) === sorted(other) ? 1 : lettersApart(plain, other);
  if (letters <= Math.max(plain.length, other.length) / 3) return 1 + letters;
  const common = meaning.filter((word) => otherMeaning.includes(word)).length;
  return common === 0 ? Infinity : MOST_LETTERS + (meaning.length + otherMeaning.length) / common;
};

const sorted = (text: string): string => Array.from(text).toSorted().join('');

/** More than any two names are apart. */
const MOST_LETTERS = 1_000;

/**
 * Lower-case words without accents: `nomeCompleto`, `nome_completo` and `NOME-COMPLETO` have the
 * same ones.
 */
const wordsOf = (name: string): readonly string[] =>
  name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

const standardWords = (words: readonly string[]): readonly string[] =>
  words.map((word) => STANDARD_WORD.get(word) ?? word);
