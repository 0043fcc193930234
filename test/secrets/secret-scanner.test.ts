import { expect, test } from '@jest/globals';
import { createSecretRemover } from '../../src/secrets/secret-scanner.ts';

// Long secrets, in texts that are made to be hard to search, and how long that takes.

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
