import { describe, expect, test } from '@jest/globals';
import { createRedaction, isLookedFor, MAX_TEXT_CHARS, redacting } from '../../src/secrets/redaction.ts';

const SECRETS = {
  'a plain token': 'emulator-access-token',
  'a JWT': 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJiYW5rcyJ9._-aB~+/=',
  'every visible character': Buffer.from(Array.from({ length: 94 }, (_, index) => 33 + index)).toString(),
  'spaces and a hyphen': 'ab cd-12 34',
  'spaces, a tab and other scripts': ' c&r+é t\tü="\\\\ /秘密🔑 ',
  'four characters': 'Zx9!',
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const form = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2);
/** Everything but letters and digits is escaped, as some OAuth clients do. */
const escapeAll = (text: string): string =>
  form(text).replaceAll(/[*._-]/g, (sign) => `%${Buffer.from(sign).toString('hex').toUpperCase()}`);
const json = (value: unknown): string => JSON.stringify(value);
const unicodeEscape = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`;

const FORMS: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'JSON in JSON in JSON': (secret) => json({ body: json({ body: json([secret]) }) }),
  'JSON escaped to ASCII': (secret) => json(secret).replaceAll(/[^ -~]/g, unicodeEscape),
  'JSON with escaped slashes': (secret) => json(secret).replaceAll('/', '\\/'),
  'percent-encoded': encodeURIComponent,
  'percent-encoded twice': (secret) => encodeURIComponent(encodeURIComponent(secret)),
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
  'Basic credentials of a secret with all signs escaped': (secret) => base64(`id:${escapeAll(secret)}`),
  'Base64 in JSON with escaped slashes': (secret) => json(base64(`:${secret}`)).replaceAll('/', '\\/'),
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

/** Redacts the secrets, each of a variable of its own. */
const redactionOf = (...secrets: string[]) => {
  const { addSecret, redact } = createRedaction();
  for (const [index, secret] of secrets.entries()) addSecret(`SECRET_${index}`, secret);
  return redact;
};

test('a line holding secrets remains JSON', () => {
  const all = Object.values(SECRETS);
  const redacted = redactionOf(...all)(json({ all, text: json(SECRETS) }));
  expect(JSON.parse(redacted)).toEqual({ all: all.map(() => '[redacted]'), text: expect.any(String) });
});

test('of a variable the last four values are remembered, and those of others stay', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('SECRET', 'the-client-secret');
  const give = (...numbers: number[]): void => {
    for (const number of numbers) addSecret('TOKEN', `token-${number}`);
  };
  give(1, 2, 3, 4, 3, 3, 4, 3);
  expect(redact('token-1 token-2 token-3 token-4')).toBe('[redacted] [redacted] [redacted] [redacted]');
  // One that is given again is the newest.
  give(2, 5, 6);
  expect(redact('token-1 token-2 token-3 token-4')).toBe('token-1 [redacted] [redacted] token-4');
  expect(redact('the-client-secret')).toBe('[redacted]');
});

test('what would also be in ordinary lines is not looked for', () => {
  const judge = (secret: string) => [secret, isLookedFor(secret), redactionOf(secret)(`<${secret}>`)];
  for (const secret of ['abcdefgh', '12345678', '--------', 'Zx9!', 'abc1', '1abc', '12!!', '!!ab'])
    expect(judge(secret)).toEqual([secret, true, '<[redacted]>']);
  for (const secret of ['abcdefg', '1234567', '-------', 'a1!', '', 'abcdefg\\\\', 'ab1\\\\'])
    expect(judge(secret)).toEqual([secret, false, `<${secret}>`]);
});

const [FIRST, OTHER] = ['first-secret', 'other-secret'];
const [OUTER, INNER, NEXT] = ['abcdefgh-ijklmnop', 'defgh-ij', 'ijklmnop-qrstuvwx'];
/** As long as what is found of a longer secret. */
const START = 'x1'.repeat(16);
const REPEATED = 'x1'.repeat(20);
const [LONG, LONGER] = [`${START}-first`, `${START}-other-one`];

test.each<[secrets: string[], text: string, redacted: string]>([
  [[FIRST, OTHER], 'first-secret', '[redacted]'],
  [[FIRST, OTHER], 'first-secret, other-secret; first-secret.', '[redacted], [redacted]; [redacted].'],
  // One that follows at once cannot be told from it.
  [[FIRST, OTHER], '<first-secretother-secret>', '<[redacted]>'],
  [[FIRST], 'first-secre', 'first-secre'],
  [[FIRST], 'irst-secret first-secret irst-secret', 'irst-secret [redacted] irst-secret'],
  [['token-1', 'token-12345'], 'x token-12345 token-1 y', 'x [redacted] [redacted] y'],
  [['ab+cd-12', OTHER], 'ab%2Bcd-12, other-secret, ab%2Bcd-12', '[redacted], [redacted], [redacted]'],
  [[OUTER, INNER, NEXT], '<abcdefgh-ijklmnop>', '<[redacted]>'],
  [[OUTER, INNER, NEXT], '<abcdefgh-ijklmnop-qrstuvwx>', '<[redacted]>'],
  [[OUTER, INNER, NEXT], '<defgh-ij>', '<[redacted]>'],
  [[LONG, LONGER], `<${LONGER}>`, '<[redacted]>'],
  [[LONG, LONGER], `<${LONG} ${LONGER}>`, '<[redacted] [redacted]>'],
  // What only begins like a secret may be one that was cut off.
  [[LONG, LONGER], `<${START}-o…>`, '<[redacted]…>'],
  [[LONG, LONGER], `<${START.slice(1)}>`, `<${START.slice(1)}>`],
  // The longest run of letters and digits in it is at its end, which is cut off.
  [['0f4c1d2e-7a5b-4c3d-9e8f-001122334455'], '<0f4c1d2e-7a5b-4c3d-9e8f-00112233…>', '<[redacted]…>'],
  // Secrets that begin by repeating something, after some more of it.
  [[`${'0'.repeat(40)}-Rest`], `<${'0'.repeat(41)}-Rest>`, '<[redacted]>'],
  [[`${REPEATED}-Rest`], `<x1${REPEATED}-Rest>`, '<[redacted]>'],
  [[`${START}-Random-Rest`], `<x1x1${START}-Random…>`, '<[redacted]…>'],
  [[`${REPEATED}-Rest`], `<${REPEATED}${REPEATED}-Rest>`, '<[redacted]>'],
  [[`${REPEATED}y${REPEATED}-Rest`], `<${REPEATED}y${REPEATED}y${REPEATED}-Rest>`, '<[redacted]>'],
])('of %j in %j is left: %j', (secrets, text, redacted) => {
  expect(redactionOf(...secrets)(text)).toBe(redacted);
});

describe('of escapes', () => {
  test.each([
    ['a control character', 'ab\b\f\n\r\tcd12', String.raw`ab\b\f\n\r\tcd12`],
    ['a two-byte character', 'abcé-123', String.raw`abc\u00e9-123`],
    ['a three-byte character', 'abc€-123', String.raw`abc\\u20AC-123`],
    ['a pair of surrogates', 'abc🔑-123', String.raw`abc\\ud83d\\udd11-123`],
    ['base64url', 'ab+cd/123', 'ab-cd_123'],
    ['percent signs of letters, which no encoder makes', 'ab%41cd-12', 'ab%41cd-12'],
    ['a control character without a letter', 'ab\u0001cd-12', 'ab\u0001cd-12'],
    ['the first character beyond U+FFFF', 'abc\u{10000}-123', String.raw`abc\ud800\udc00-123`],
    ['the last character of all', 'abc\u{10ffff}-123', String.raw`abc\udbff\udfff-123`],
    ['half a pair', 'abc\ud83d-1234', String.raw`abc\ud83d-1234`],
    ['U+0080 in percent signs', 'abc\u0080-123', 'abc%C2%80-123'],
    ['many signs in a row', 'ab12//////cd34', 'ab12%2F%2F%2F%2F%2F%2Fcd34'],
    ['signs between single letters', 'a/b/c/d/e/1', 'a%2Fb%2Fc%2Fd%2Fe%2F1'],
    ['what looks like an escape', String.raw`abc\u00e9-12`, String.raw`abc\\u00e9-12`],
    ['what looks like an escape and is meant as one', String.raw`abc\u00e9-12345678`, 'abcé-12345678'],
    ['what looks like an escape, plainly', String.raw`abc\u00e9-12`, String.raw`abc\u00e9-12`],
  ])('%s', (_name, secret, written) => {
    expect(redactionOf(secret)(`<${written}>`)).toBe('<[redacted]>');
  });

  test.each([
    ['an escape that is too short', 'abcé-123', String.raw`abc\u00e-123`],
    ['an escape without its backslash', 'abcé-123', 'abcu00e9-123'],
    ['percent signs without digits', 'ab+cd-123', 'ab%2Gcd-123'],
    ['a percent sign and a digit', 'abcd-12\u0004', 'abcd-12%4'],
    ['an escape without a digit', 'abcé-123', String.raw`abc\u00ge-123`],
    ['three characters that are left of a longer text', String.raw`\u0021\u0021\u0021`, 'u0021!!!'],
  ])('nothing is made of %s', (_name, secret, written) => {
    expect(redactionOf(secret)(`<${written}>`)).toBe(`<${written}>`);
  });

  test.each([
    ['"abc-123"', String.raw`{"a":"\"abc-123\""}`, '{"a":"[redacted]"}'],
    ['é-abc-12é', String.raw`1\u00e9-abc-12\u00e92`, '1[redacted]2'],
    ['+abc-12+', '1%2Babc%2D12%2B2', '1[redacted]2'],
    ['abcd-123\\', String.raw`{"a":"abcd-123\\"}`, String.raw`{"a":"[redacted]\\"}`],
    [String.raw`u00e9-a\b12\\`, String.raw`<\u00e9-a\b12\\>`, String.raw`<\[redacted]\\>`],
    ['abc-123é', '<abc-123é\udd11>', '<[redacted]\udd11>'],
    ['abc-1234\ud83d', String.raw`<abc-1234\ud83d.>`, '<[redacted].>'],
    ['abcd-12%', '<abcd-12%41>', '<[redacted]41>'],
    ['41-abcd-1', '<%41-abcd-1>', '<%[redacted]>'],
  ])('the whole escape goes with %j, and no more', (secret, text, redacted) => {
    expect(redactionOf(secret)(text)).toBe(redacted);
  });
});

test.each(['abcd-1234', 'abcd-12345', 'abcd-123456', 'Zx9!'])(
  '%s is removed from Base64 at each position of a group',
  (secret) => {
    for (const before of ['', '1', '12', '123']) {
      const [start = '', end = ''] = redactionOf(secret)(base64(`${before}${secret}`)).split('[redacted]');
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
