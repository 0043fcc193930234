import { describe, expect, test } from '@jest/globals';
import {
  createRedaction,
  isRedactable,
  MAX_TEXT_CHARS,
  redacting,
} from '../../src/secrets/redaction.ts';

const SECRETS = {
  'a plain token': 'emulator-access-token',
  'a JWT': 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJiYW5rcyJ9._-aB~+/=',
  'every visible character': Buffer.from(
    Array.from({ length: 94 }, (_, index) => 33 + index),
  ).toString(),
  'spaces and a hyphen': 'ab cd-12 34',
  'spaces, a tab and other scripts': ' c&r+é t\tü="\\\\ /秘密🔑 ',
  'what Base64 and base64url write with other signs': '>>>???>>>???',
  'four characters': 'Zx9!',
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const form = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2);
/** Everything but letters and digits is escaped, as some OAuth clients do. */
const escapeAll = (text: string): string =>
  form(text).replaceAll(/[*._-]/g, (sign) => `%${Buffer.from(sign).toString('hex').toUpperCase()}`);
const json = (value: unknown): string => JSON.stringify(value);

const FORMS: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'JSON in JSON': (secret) => json({ body: json([secret]) }),
  'JSON with escaped slashes': (secret) => json(secret).replaceAll('/', '\\/'),
  'percent-encoded': encodeURIComponent,
  'percent-encoded in lower case': (secret) =>
    encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase()),
  'form-encoded': form,
  Base64: base64,
  base64url: base64url,
  'Basic credentials of a raw secret': (secret) => base64(`id:${secret}`),
  'Basic credentials at the next alignment': (secret) => base64(`id1:${secret}`),
  'Basic credentials at the third alignment': (secret) => base64(`id12:${secret}:more`),
  'Basic credentials of a form-encoded secret': (secret) =>
    base64(`${form('a client')}:${form(secret)}`),
  'Basic credentials of a percent-encoded secret': (secret) =>
    base64url(`id:${encodeURIComponent(secret)}`),
  'Basic credentials of a secret with all signs escaped': (secret) =>
    base64(`id:${escapeAll(secret)}`),
  'Base64 in JSON with escaped slashes': (secret) =>
    json(base64(`:${secret}`)).replaceAll('/', '\\/'),
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
    // Around Base64 a few characters are left, which hold bits of the secret's ends and of its
    // neighbours.
    const left = redacted.slice(20, -12).replace('[redacted]', '');
    expect(left.length).toBeLessThanOrEqual(encode('').length + 8);
    expect(redact(redacted)).toBe(redacted);
  });
});

/** Redacts the secrets, each of a variable of its own. */
const redactionOf = (...secrets: string[]) => {
  const { addSecret, redact } = createRedaction();
  for (const [index, secret] of secrets.entries()) addSecret(`SECRET_${index}`, secret);
  return redact;
};

test('a line holding secrets remains JSON', () => {
  const all = Object.values(SECRETS);
  const redacted = redactionOf(...all)(json({ all, text: json(SECRETS) }));
  expect(JSON.parse(redacted)).toEqual({
    all: all.map(() => '[redacted]'),
    text: expect.any(String),
  });
});

test('of a variable the last four values are remembered, and those of others stay', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('SECRET', 'the-client-secret');
  const give = (...numbers: number[]): void => {
    for (const number of numbers) addSecret('TOKEN', `token-${number}`);
  };
  give(1, 2, 3, 4, 3, 3, 4, 3);
  expect(redact('token-1 token-2 token-3 token-4')).toBe(
    '[redacted] [redacted] [redacted] [redacted]',
  );
  // One that is given again is the newest.
  give(2, 5, 6);
  expect(redact('token-1 token-2 token-3 token-4')).toBe('token-1 [redacted] [redacted] token-4');
  expect(redact('the-client-secret')).toBe('[redacted]');
});

test('what would also be in ordinary lines is not looked for', () => {
  const redacted = (secret: string) => [
    secret,
    isRedactable(secret),
    redactionOf(secret)(`<${secret}>`),
  ];
  for (const secret of ['abcdefgh', '12345678', '--------', 'Zx9!', 'abc1', '1abc', '12!!', '!!ab'])
    expect(redacted(secret)).toEqual([secret, true, '<[redacted]>']);
  for (const secret of ['abcdefg', '1234567', '-------', 'a1!', '', 'abcdefg\\\\', 'ab1\\\\'])
    expect(redacted(secret)).toEqual([secret, false, `<${secret}>`]);
});

const [FIRST, OTHER] = ['first-secret', 'other-secret'];
const [OUTER, INNER, NEXT] = ['abcdefgh-ijklmnop', 'defgh-ij', 'ijklmnop-qrstuvwx'];
/** As long as what is found of a longer secret. */
const START = 'x1'.repeat(16);
const [LONG, LONGER] = [`${START}-first`, `${START}-other-one`];

test.each<[secrets: string[], text: string, redacted: string]>([
  [[FIRST, OTHER], 'first-secret', '[redacted]'],
  [
    [FIRST, OTHER],
    'first-secret, other-secret; first-secret.',
    '[redacted], [redacted]; [redacted].',
  ],
  [[FIRST, OTHER], '<first-secretother-secret>', '<[redacted][redacted]>'],
  [[FIRST], 'first-secre', 'first-secre'],
  [[FIRST], 'irst-secret first-secret irst-secret', 'irst-secret [redacted] irst-secret'],
  [['token-1', 'token-12345'], 'x token-12345 token-1 y', 'x [redacted] [redacted] y'],
  [
    ['ab+cd-12', OTHER],
    'ab%2Bcd-12, other-secret, ab%2Bcd-12',
    '[redacted], [redacted], [redacted]',
  ],
  [[OUTER, INNER, NEXT], '<abcdefgh-ijklmnop>', '<[redacted]>'],
  [[OUTER, INNER, NEXT], '<defgh-ij>', '<[redacted]>'],
  [[LONG, LONGER], `<${LONGER}>`, '<[redacted]>'],
  [[LONG, LONGER], `<${LONG} ${LONGER}>`, '<[redacted] [redacted]>'],
])('of %j in %j is left: %j', (secrets, text, redacted) => {
  expect(redactionOf(...secrets)(text)).toBe(redacted);
});

test.each(['abcd-1234', 'abcd-12345', 'abcd-123456', 'Zx9!'])(
  '%s is removed from Base64 at each position of a group',
  (secret) => {
    for (const before of ['', '1', '12', '123']) {
      const [start = '', end = ''] = redactionOf(secret)(base64(`${before}${secret}`)).split(
        '[redacted]',
      );
      // What is left around it holds at most the bits that it shares with its neighbours.
      const left = `${start}${end.replaceAll('=', '')}`;
      expect(left.length).toBeLessThanOrEqual(Math.ceil((before.length * 8) / 6) + 1);
    }
  },
);

test('a text or line of exactly the largest length is kept, a longer one is not', () => {
  const redaction = createRedaction();
  redaction.addSecret('TOKEN', 'abcd-1234');
  const longest = 'x'.repeat(MAX_TEXT_CHARS);
  expect(redaction.redact(longest)).toBe(longest);
  expect(redaction.redact(`${longest}y`)).toBe(`${longest}… (cut off)\n`);
  const lines: string[] = [];
  const destination = redacting({ write: (line) => void lines.push(line) }, redaction);
  destination.write('abcd-1234');
  destination.write(longest);
  destination.write(`${longest}y`);
  const start = '{"level":100,"severity":"INFO","time":"2026-11-21T10:00:00.000Z"';
  destination.write(`${start},"text":"${longest}"}`);
  destination.write(`no ${start},"text":"${longest}"}`);
  expect(lines).toEqual([
    '[redacted]',
    longest,
    `{"level":40,"severity":"WARNING","msg":"log: a line of ${MAX_TEXT_CHARS + 1} characters was left out"}\n`,
    `${start},"msg":"log: a line of ${MAX_TEXT_CHARS + start.length + 11} characters was left out"}\n`,
    `{"level":40,"severity":"WARNING","msg":"log: a line of ${MAX_TEXT_CHARS + start.length + 14} characters was left out"}\n`,
  ]);
});

test.each(['severity', 'requestId', 'statusCode', 'durationMs', '2026-11-2'])(
  'the secret %j takes neither the names nor the time from a line',
  (secret) => {
    const redaction = createRedaction();
    redaction.addSecret('TOKEN', secret);
    const own = { level: 40, severity: 'WARNING', time: '2026-11-21T10:00:00.000Z' };
    const request = { requestId: 'id', method: 'GET', statusCode: 502, durationMs: 1 };
    const lines: string[] = [];
    redacting({ write: (line) => void lines.push(line) }, redaction).write(
      JSON.stringify({ ...own, ...request, [`x${secret}`]: `Bearer ${secret}` }),
    );
    expect(JSON.parse(lines.join(''))).toEqual({
      ...own,
      ...request,
      'x[redacted]': 'Bearer [redacted]',
    });
  },
);
