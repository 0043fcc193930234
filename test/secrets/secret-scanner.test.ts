import { describe, expect, test } from '@jest/globals';
import { createRedaction, isLookedFor } from '../../src/secrets/redaction.ts';
import { createSecretRemover } from '../../src/secrets/secret-scanner.ts';
import { createTextSource, SECRET_ALPHABETS } from '../kit/random-texts.ts';

// Secrets of any characters, in texts that are made to be hard to search, and how long that takes.

const { below, pick, textOf } = createTextSource(77);

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const ENCODERS: Record<string, (secret: string) => string> = {
  plain: (secret) => secret,
  JSON: (secret) => JSON.stringify(secret).slice(1, -1),
  'JSON in JSON': (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  percent: encodeURIComponent,
  form: (secret) => new URLSearchParams({ v: secret }).toString().slice(2),
  'Basic credentials': (secret) => base64(`${textOf(Array.from('abc'), below(4))}:${secret}`),
  'Basic credentials of a percent-encoded secret': (secret) => base64(`id:${encodeURIComponent(secret)}`),
};

describe.each(Object.entries(SECRET_ALPHABETS))('secrets of %s', (_name, alphabet) => {
  test('are removed, whatever is next to them', () => {
    for (let round = 0; round < 400; round += 1) {
      const secret = Buffer.from(textOf(alphabet, 8 + below(80))).toString();
      if (!isLookedFor(secret)) continue;
      const { addSecret, redact } = createRedaction();
      addSecret('TOKEN', secret);
      const [encoding, encode] = pick(Object.entries(ENCODERS));
      // A % or a backslash without what belongs to it comes from no encoder.
      const before = textOf(alphabet, below(5)).replaceAll(/[%\\].*/gs, '');
      const after = textOf(alphabet, below(5));
      const written = encode(secret);
      const redacted = redact(`${before}${written}${after}`);
      expect([encoding, secret, redacted.includes('[redacted]')]).toEqual([encoding, secret, true]);
      expect(redacted).not.toContain(secret);
    }
  });
});

test('a secret of any length and any characters is removed, and none breaks the search', () => {
  for (const secret of [
    'x'.repeat(40_000),
    '!"§$%&/()=?'.repeat(4_000),
    '秘'.repeat(8_000),
    `${'\\'.repeat(9_000)}abc-1234`,
  ]) {
    const { addSecret, redact } = createRedaction();
    addSecret('TOKEN', secret);
    expect(redact(`{"before":${JSON.stringify(secret)},"after":1}`)).toBe(
      '{"before":"[redacted]","after":1}',
    );
  }
  const { addSecret, redact } = createRedaction();
  addSecret('TOKEN', 'half of a pair: \ud83d');
  expect(redact('an ordinary line')).toBe('an ordinary line');
});

test('a secret whose end was cut off is removed', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('TOKEN', `head-${'0123456789'.repeat(20)}`);
  expect(redact(`{"field":"head-${'0123456789'.repeat(5)}…"}`)).toBe('{"field":"[redacted]…"}');
});

describe('takes little time', () => {
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
});
