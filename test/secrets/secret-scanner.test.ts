import { describe, expect, test } from '@jest/globals';
import { createRedaction, isLookedFor, MAX_TEXT_CHARS, redacting } from '../../src/secrets/redaction.ts';
import { createTextSource, SECRET_ALPHABETS } from '../kit/random-texts.ts';

// Secrets of any characters, in texts that are made to be hard to search.

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

test.each(['wrong', 'e', '', '2026', '----', '\\\\\\\\\\\\\\\\'])(
  '%j is too simple to be searched for',
  (word) => {
    const { addSecret, redact } = createRedaction();
    addSecret('TOKEN', word);
    const line = '{"level":40,"time":"2026-11-21","msg":"---- the token is wrong \\\\\\\\\\\\\\\\"}';
    expect(redact(line)).toBe(line);
  },
);

test('a text beyond the bound is cut off, and a line beyond it replaced', () => {
  const redaction = createRedaction();
  const lines: string[] = [];
  const destination = redacting({ write: (line) => void lines.push(line) }, redaction);
  const line = `{"level":40,"time":"2026-11-21T10:00:00.000Z","text":"${'x'.repeat(MAX_TEXT_CHARS)}"}\n`;
  destination.write(line);
  expect(lines.map((text): unknown => JSON.parse(text))).toEqual([
    {
      level: 40,
      time: '2026-11-21T10:00:00.000Z',
      msg: `log: a line of ${line.length} characters was left out`,
    },
  ]);
  expect(redaction.redact(line)).toHaveLength(MAX_TEXT_CHARS + '… (cut off)\n'.length);
});
