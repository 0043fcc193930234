import { describe, expect, test } from '@jest/globals';
import { isLookedFor } from '../../src/secrets/redaction.ts';
import { createSecretRemover } from '../../src/secrets/secret-scanner.ts';
import { createRandom } from '../kit/random.ts';

// Secrets of any characters, in texts that are made to be hard to search, and how long that takes.

const random = createRandom(77);
const below = (limit: number): number => Math.floor(random() * limit);
const pick = <T>(list: readonly [T, ...T[]]): T => list[below(list.length)] ?? list[0];
const textOf = (alphabet: string, length: number): string => {
  const characters = Array.from(alphabet);
  return Array.from({ length }, () => characters[below(characters.length)]).join('');
};

const ALPHABETS = {
  'all of ASCII': String.fromCharCode(...Array.from({ length: 128 }).keys()),
  'signs that encoders touch': '\\\\"/%+-_ \n\t%25=&u00né秘🔑',
  'two letters': 'ab',
  'other scripts': 'éü秘密🔑ß\ud83d\udd11',
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe.each(Object.entries(ALPHABETS))('secrets of %s', (_name, alphabet) => {
  test('are removed, whatever is next to them', () => {
    for (let round = 0; round < 200; round += 1) {
      const secret = Buffer.from(textOf(alphabet, 8 + below(80))).toString();
      if (!isLookedFor(secret)) continue;
      const written = pick([
        secret,
        JSON.stringify(secret).slice(1, -1),
        JSON.stringify(JSON.stringify(secret)).slice(3, -3),
        encodeURIComponent(secret),
        new URLSearchParams({ v: secret }).toString().slice(2),
        base64(`${textOf('abc', below(4))}:${secret}`),
        base64(`id:${encodeURIComponent(secret)}`),
      ]);
      // A % or a backslash without what belongs to it comes from no encoder.
      const before = textOf(alphabet, below(5)).replaceAll(/[%\\].*/gs, '');
      const left = createSecretRemover([secret])(`${before}${written}${textOf(alphabet, below(5))}`);
      expect([written, secret, left.includes('[redacted]')]).toEqual([written, secret, true]);
      expect(left).not.toContain(secret);
    }
  });
});

test('a secret of any length and any characters is removed, and none breaks the search', () => {
  for (const secret of [
    'x'.repeat(8_000),
    '!"§$%&/()=?'.repeat(700),
    '秘'.repeat(2_000),
    `${'\\'.repeat(8_000)}abc-1`,
  ])
    expect(createSecretRemover([secret])(`{"before":${JSON.stringify(secret)},"after":1}`)).toBe(
      '{"before":"[redacted]","after":1}',
    );
  const halfOfAPair = createSecretRemover(['half of a pair: \ud83d']);
  expect(halfOfAPair('an ordinary line')).toBe('an ordinary line');
});

const LONG_TEXT_CHARS = 100_000;
/** More than ten times what a long text takes. A search in quadratic time takes seconds. */
const LONGEST_SCAN_MS = 800;

/** Repeats `piece` up to a long text, and searches it. The shorter of two times, because a busy machine only makes it longer. */
const scanMs = (secrets: readonly string[], piece: string): number => {
  const text = piece.repeat(Math.ceil(LONG_TEXT_CHARS / piece.length)).slice(0, LONG_TEXT_CHARS);
  const removeSecrets = createSecretRemover(secrets);
  const times = [1, 2].map(() => {
    const startedAtMs = performance.now();
    removeSecrets(`secret${text}`);
    return performance.now() - startedAtMs;
  });
  return Math.min(...times);
};

test.each(Object.entries(ALPHABETS))(
  'secrets of %s take little time in texts of the same pieces',
  (_name, alphabet) => {
    const secrets = Array.from({ length: 4 }, () => textOf(alphabet, 8 + below(400)));
    const pieces = secrets.flatMap((secret) => [
      secret.slice(0, 1 + below(secret.length)),
      encodeURIComponent(Buffer.from(secret).toString()),
      secret,
      base64(secret),
      '\\'.repeat(1 + below(2_000)),
      String.raw`\ud83d`,
      '%25',
    ]);
    const shuffled = Array.from({ length: 200 }, () => pieces[below(pieces.length)]).join('');
    expect(scanMs(secrets, shuffled)).toBeLessThan(LONGEST_SCAN_MS);
  },
);

test.each([
  ['the same character', 'a'.repeat(8_192), 'a'],
  ['the beginning of a secret', `${'a'.repeat(4_000)}b`, 'a'],
  ['backslashes', `+${'x'.repeat(20)}\\"`, '\\'],
  ['lone surrogates and backslashes', 'a-secret-token', `\\ud83d${'\\'.repeat(100)}`],
  ['a lone surrogate before many backslashes', 'a-secret-token', `\ud83d${'\\'.repeat(50_000)}`],
  ['an escape before many backslashes', 'a-secret-token', `\\u${'\\'.repeat(99_000)}`],
  ['percent signs', '%%%%%%%%%%%%25', '%25'],
])('a text that repeats %s takes little time', (_what, secret, piece) => {
  expect(scanMs([secret], piece)).toBeLessThan(LONGEST_SCAN_MS);
});
