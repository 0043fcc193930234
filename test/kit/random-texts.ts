import { createRandom } from './random.ts';

// Texts of characters that are hard to encode or to search.

export const SECRET_ALPHABETS = {
  'all of ASCII': Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  'signs that encoders touch': Array.from('\\\\"/%+-_ \n\t%25=&u00né秘🔑'),
  'two letters': Array.from('ab'),
  'other scripts': Array.from('éü秘密🔑ß\ud83d\udd11'),
};

export const createTextSource = (seed: number) => {
  const random = createRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => {
    const item = list[below(list.length)];
    if (item === undefined) throw new Error('an empty list');
    return item;
  };
  const textOf = (alphabet: readonly string[], length: number): string =>
    Array.from({ length }, () => pick(alphabet)).join('');
  return { below, pick, textOf };
};
