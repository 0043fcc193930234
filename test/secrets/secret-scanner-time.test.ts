import { expect, test } from '@jest/globals';
import { createSecretRemover } from '../../src/secrets/secret-scanner.ts';
import { createTextSource, SECRET_ALPHABETS } from '../kit/random-texts.ts';

// How long the search for secrets takes, in texts that are made to be hard to search.

const { below, pick, textOf } = createTextSource(77);

const LONG_TEXT_CHARS = 100_000;
/** More than ten times what a long text takes. A search in quadratic time takes seconds. */
const LONGEST_SCAN_MS = 800;
/** The shorter of two times, because a busy machine only makes it longer. */
const scanMs = (secrets: readonly string[], text: string): number => {
  const removeSecrets = createSecretRemover(secrets);
  const times = [1, 2].map(() => {
    const startedAtMs = performance.now();
    removeSecrets(text);
    return performance.now() - startedAtMs;
  });
  return Math.min(...times);
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

test.each(Object.entries(SECRET_ALPHABETS))(
  'secrets of %s take little time, whatever the text is made of',
  (_name, alphabet) => {
    for (let round = 0; round < 2; round += 1) {
      const secrets = Array.from({ length: 4 }, () => textOf(alphabet, 8 + below(400)));
      const pieces = [
        ...secrets.map((secret) => secret.slice(0, 1 + below(secret.length))),
        ...secrets.map((secret) => encodeURIComponent(Buffer.from(secret).toString())),
        ...secrets,
        ...secrets.map((secret) => base64(secret)),
        '\\'.repeat(1 + below(2_000)),
        String.raw`\ud83d`,
        '%25',
      ];
      let text = '';
      while (text.length < LONG_TEXT_CHARS) text += pick(pieces);
      expect(scanMs(secrets, text.slice(0, LONG_TEXT_CHARS))).toBeLessThan(LONGEST_SCAN_MS);
    }
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
  const text = `secret${piece.repeat(Math.ceil(LONG_TEXT_CHARS / piece.length))}`.slice(0, LONG_TEXT_CHARS);
  expect(scanMs([secret], text)).toBeLessThan(LONGEST_SCAN_MS);
});
