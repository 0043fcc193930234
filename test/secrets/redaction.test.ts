import { describe, expect, test } from '@jest/globals';
import { createRedaction } from '../../src/secrets/redaction.ts';

const SECRETS = {
  'a plain token': 'emulator-access-token',
  'a JWT': 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJiYW5rcyJ9._-aB~+/=',
  'every visible character': Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join(
    '',
  ),
  'spaces, a tab and other scripts': ' c&r+é t\tü="\\\\ /秘密🔑 ',
  'four characters': 'Zx9!',
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const form = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2);
const json = (value: unknown): string => JSON.stringify(value);

const FORMS: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'JSON-escaped': (secret) => json({ secret }),
  'JSON in JSON in JSON': (secret) => json({ body: json({ body: json([secret]) }) }),
  'JSON escaped to ASCII': (secret) =>
    json(secret).replaceAll(
      /[^ -~]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`,
    ),
  'JSON with escaped slashes': (secret) => json(secret).replaceAll('/', '\\/'),
  'percent-encoded': encodeURIComponent,
  'percent-encoded as a path': encodeURI,
  'percent-encoded in lower case': (secret) =>
    encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase()),
  'form-encoded': form,
  Base64: base64,
  base64url: base64url,
  'Basic credentials of a raw secret': (secret) => base64(`id:${secret}`),
  'Basic credentials at the next alignment': (secret) => base64(`id1:${secret}`),
  'Basic credentials at the third alignment': (secret) => base64(`id12:${secret}:more`),
  'Basic credentials of a form-encoded secret': (secret) => base64(`${form('a client')}:${form(secret)}`),
  'Basic credentials of a percent-encoded secret': (secret) => base64url(`id:${encodeURIComponent(secret)}`),
  'Base64 in JSON with escaped slashes': (secret) => json(base64(`:${secret}`)).replaceAll('/', '\\/'),
  'Base64 in a URL': (secret) => encodeURIComponent(base64(`::${secret}`)),
};

describe.each(Object.entries(SECRETS))('%s', (_what, secret) => {
  test.each(Object.entries(FORMS))('is removed: %s', (_form, encode) => {
    const { addSecret, redact } = createRedaction();
    addSecret('TOKEN', secret);
    const written = encode(secret);
    const line = `{"before":1,"text":"${written}","after":2}`;
    const redacted = redact(line);
    expect(redacted).toContain('[redacted]');
    expect(redacted.startsWith('{"before":1,"text":"')).toBe(true);
    expect(redacted.endsWith('","after":2}')).toBe(true);
    // Around Base64 a few characters are left, which hold bits of the secret's ends and of its neighbours.
    const left = redacted.slice(20, -12).replace('[redacted]', '');
    expect(left.length).toBeLessThanOrEqual(encode('').length + 8);
    expect(redact(redacted)).toBe(redacted);
  });
});

test('a line without a secret is left as it is', () => {
  const { addSecret, redact } = createRedaction();
  const line = '{"level":30,"path":"/banks","msg":"request"}';
  expect(redact(line)).toBe(line);
  addSecret('TOKEN', 'emulator-access-token');
  expect(redact(line)).toBe(line);
});

test('a line holding secrets remains JSON', () => {
  const { addSecret, redact } = createRedaction();
  for (const [name, secret] of Object.entries(SECRETS)) addSecret(name, secret);
  const redacted = redact(json({ all: Object.values(SECRETS), text: json(SECRETS) }));
  expect(JSON.parse(redacted)).toEqual({
    all: Object.keys(SECRETS).map(() => '[redacted]'),
    text: expect.any(String),
  });
});

test('of two secrets that begin alike neither leaves its end behind', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('A', 'token-1');
  addSecret('B', 'token-12345');
  expect(redact('x token-12345 token-1 y')).toBe('x [redacted] [redacted] y');
});

test('the last rotations are remembered and the oldest forgotten, each variable for itself', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('SECRET', 'the-client-secret');
  for (let rotation = 1; rotation <= 5; rotation += 1) addSecret('TOKEN', `token-number-${rotation}`);
  expect(redact('the-client-secret token-number-5 token-number-2')).toBe('[redacted] [redacted] [redacted]');
  expect(redact('token-number-1')).toBe('token-number-1');
});

test('a value too short to be a secret does not tear holes into every line', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('TOKEN', 'e');
  addSecret('TOKEN', '');
  expect(redact('{"level":30}')).toBe('{"level":30}');
});

test('a long line of backslashes does not stop the service', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('TOKEN', String.raw`a\\"\\"\\"b`);
  // A search that is not linear would not end within a day.
  const line = `a${'\\'.repeat(20_000)}`;
  expect(redact(line)).toBe(line);
});
