import { describe, expect, test } from '@jest/globals';
import { createRedaction } from '../../src/secrets/redaction.ts';

// What is removed from all output. What the built process writes: custody.test.ts; a list that
// contains a secret: echo.test.ts.

const SECRETS = {
  'every visible character': Buffer.from(
    Array.from({ length: 94 }, (_, index) => 33 + index),
  ).toString(),
  'spaces, a tab and other scripts': ' c&r+é t\tü="\\\\ /秘密🔑 ',
  'eight characters': 'Zx9!Zx9?',
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const FORMS: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'JSON-escaped': (secret) => JSON.stringify(secret),
  'percent-encoded': encodeURIComponent,
  Base64: base64,
  'Basic credentials': (secret) => base64(`id:${secret}`),
  'Basic credentials at the next alignment': (secret) => base64(`id1:${secret}`),
  'Basic credentials at the third alignment': (secret) => base64(`id12:${secret}:more`),
};

describe.each(Object.entries(SECRETS))('%s', (_what, secret) => {
  test.each(Object.entries(FORMS))('is removed: %s', (_form, encode) => {
    const { addSecret, redact } = createRedaction();
    addSecret('TOKEN', [secret]);
    const redacted = redact(`{"before":1,"text":"${encode(secret)}","after":2}`);
    expect(redacted).toMatch(/^\{"before":1,"text":".*\[redacted\].*","after":2\}$/);
    // Around Base64 a few characters are left, which hold bits of the secret's ends and of its
    // neighbours.
    const left = redacted.slice(20, -12).replace('[redacted]', '');
    expect(left.length).toBeLessThanOrEqual(encode('').length + 8);
  });
});

test('a secret inside another one, and one that begins as another, are removed whole', () => {
  const { addSecret, redact } = createRedaction();
  const start = 'x1'.repeat(16);
  const secrets = [
    'abcdefgh-ijklmnop',
    'defgh-ij',
    'token-01',
    'token-012345',
    start,
    `${start}-2`,
  ];
  addSecret('SECRET', secrets);
  expect(redact(`<${secrets.join('> <')}>`)).toBe(secrets.map(() => '<[redacted]>').join(' '));
});

test('of a variable the two newest values are removed, and those of others stay', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('SECRET', ['the-client-secret']);
  for (const token of ['token-01', 'token-02', 'token-01', 'token-03']) addSecret('TOKEN', [token]);
  expect(redact('token-01 token-02 token-03')).toBe('[redacted] token-02 [redacted]');
  expect(redact('the-client-secret')).toBe('[redacted]');
});
