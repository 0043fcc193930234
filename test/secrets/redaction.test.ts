import { describe, expect, test } from '@jest/globals';
import { createRedaction, isLookedFor, MAX_TEXT_CHARS, redacting } from '../../src/secrets/redaction.ts';

const SECRETS = {
  'a plain token': 'emulator-access-token',
  'a JWT': 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJiYW5rcyJ9._-aB~+/=',
  'every visible character': Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join(
    '',
  ),
  'spaces and a hyphen': 'ab cd-12 34',
  'spaces, a tab and other scripts': ' c&r+é t\tü="\\\\ /秘密🔑 ',
  'four characters': 'Zx9!',
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const form = (text: string): string => new URLSearchParams({ v: text }).toString().slice(2);
/** Everything but letters and digits is escaped, as some OAuth clients do. */
const escapeAll = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z\d]/.test(char) ? char : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`;
    })
    .join('')
    .replaceAll('%20', '+');
const json = (value: unknown): string => JSON.stringify(value);
const unicodeEscape = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`;

const FORMS: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'JSON-escaped': (secret) => json({ secret }),
  'JSON in JSON in JSON': (secret) => json({ body: json({ body: json([secret]) }) }),
  'JSON escaped to ASCII': (secret) => json(secret).replaceAll(/[^ -~]/g, unicodeEscape),
  'JSON with escaped slashes': (secret) => json(secret).replaceAll('/', '\\/'),
  'percent-encoded': encodeURIComponent,
  'percent-encoded as a path': encodeURI,
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

test.each([
  ['abcdefgh', true],
  ['12345678', true],
  ['--------', true],
  ['abcdefg', false],
  ['1234567', false],
  ['-------', false],
  ['Zx9!', true],
  ['abc1', true],
  ['1abc', true],
  ['12!!', true],
  ['!!ab', true],
  ['a1!', false],
  [String.raw`abcdefg\\\\`, false],
  [String.raw`ab1\\\\`, false],
  ['', false],
])('%j is looked for: %p', (secret, isRedacted) => {
  expect(isLookedFor(secret)).toBe(isRedacted);
  const { addSecret, redact } = createRedaction();
  addSecret('TOKEN', secret);
  expect(redact(`<${secret}>`)).toBe(isRedacted ? '<[redacted]>' : `<${secret}>`);
});

test('only the secret is replaced, wherever it is and however often', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('A', 'first-secret');
  addSecret('B', 'other-secret');
  expect(redact('first-secret')).toBe('[redacted]');
  expect(redact('first-secret, other-secret; first-secret.')).toBe('[redacted], [redacted]; [redacted].');
  // One that follows at once cannot be told from it.
  expect(redact('<first-secretother-secret>')).toBe('<[redacted]>');
  expect(redact('first-secre')).toBe('first-secre');
  expect(redact('irst-secret')).toBe('irst-secret');
});

test('a secret inside another one, or overlapping it, leaves nothing behind', () => {
  const { addSecret, redact } = createRedaction();
  addSecret('A', 'abcdefgh-ijklmnop');
  addSecret('B', 'defgh-ij');
  addSecret('C', 'ijklmnop-qrstuvwx');
  expect(redact('<abcdefgh-ijklmnop>')).toBe('<[redacted]>');
  expect(redact('<abcdefgh-ijklmnop-qrstuvwx>')).toBe('<[redacted]>');
  expect(redact('<defgh-ij>')).toBe('<[redacted]>');
});

test('long secrets that begin alike are told apart by how they go on', () => {
  const { addSecret, redact } = createRedaction();
  const start = 'x1'.repeat(16);
  addSecret('A', `${start}-first`);
  addSecret('B', `${start}-other-one`);
  expect(redact(`<${start}-other-one>`)).toBe('<[redacted]>');
  expect(redact(`<${start}-first>`)).toBe('<[redacted]>');
  expect(redact(`<${start}-first ${start}-other-one>`)).toBe('<[redacted] [redacted]>');
  // What only begins like a secret may be one that was cut off.
  expect(redact(`<${start}-o>`)).toBe('<[redacted]>');
  expect(redact(`<${start.slice(1)}>`)).toBe(`<${start.slice(1)}>`);
});

test.each([
  ['one character', '0', '0'.repeat(40)],
  ['two characters', 'ab', 'ab'.repeat(20)],
  ['itself, almost', `${'x1'.repeat(20)}y`, `${'x1'.repeat(20)}y${'x1'.repeat(20)}`],
])(
  'of a secret that begins by repeating %s nothing is left after some more of them',
  (_what, more, start) => {
    const { addSecret, redact } = createRedaction();
    addSecret('TOKEN', `${start}-Random-Rest`);
    expect(redact(`<${more}${start}-Random-Rest>`)).toBe('<[redacted]>');
    expect(redact(`<${start}${start}-Random-Rest>`)).not.toMatch(/Random|Rest/);
  },
);

test('a value that is rotated back and forth does not push the others out', () => {
  const { addSecret, redact } = createRedaction();
  for (const rotation of [1, 2, 3, 4, 3, 3, 4, 3]) addSecret('TOKEN', `token-number-${rotation}`);
  expect(redact('token-number-1 token-number-2 token-number-3 token-number-4')).toBe(
    '[redacted] [redacted] [redacted] [redacted]',
  );
});

test('a value that is given again is the newest', () => {
  const { addSecret, redact } = createRedaction();
  for (const rotation of [1, 2, 3, 2, 4, 5, 6]) addSecret('TOKEN', `token-number-${rotation}`);
  expect(redact('token-number-2 token-number-3')).toBe('[redacted] token-number-3');
});

describe('of escapes', () => {
  const redactionOf = (secret: string) => {
    const { addSecret, redact } = createRedaction();
    addSecret('TOKEN', secret);
    return redact;
  };

  test.each([
    ['a control character', 'ab\b\f\n\r\tcd12', String.raw`ab\b\f\n\r\tcd12`],
    ['a quote', 'ab"cd-12', String.raw`ab\\\"cd-12`],
    ['a two-byte character', 'abcé-123', String.raw`abc\u00e9-123`],
    ['a three-byte character', 'abc€-123', String.raw`abc\\u20AC-123`],
    ['a pair of surrogates', 'abc🔑-123', String.raw`abc\ud83d\udd11-123`],
    ['a pair of surrogates in JSON in JSON', 'abc🔑-123', String.raw`abc\\ud83d\\udd11-123`],
    ['a space', 'ab cd-123', 'ab+cd-123'],
    ['base64url', 'ab+cd/123', 'ab-cd_123'],
    ['percent signs', 'ab%cd-123', 'ab%25cd-123'],
    ['UTF-8 in percent signs', 'abcé-123', 'abc%C3%a9-123'],
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
    ['another character', 'abcé-123', 'abcè-123'],
    ['another case', 'abcd-123', 'ABCD-123'],
  ])('nothing is made of %s', (_name, secret, written) => {
    expect(redactionOf(secret)(`<${written}>`)).toBe(`<${written}>`);
  });

  test('the whole escape goes with the secret, and no more', () => {
    expect(redactionOf('"abc-123"')(String.raw`{"a":"\"abc-123\""}`)).toBe('{"a":"[redacted]"}');
    expect(redactionOf('é-abc-12é')(String.raw`1\u00e9-abc-12\u00e92`)).toBe('1[redacted]2');
    expect(redactionOf('+abc-12+')('1%2Babc%2D12%2B2')).toBe('1[redacted]2');
    expect(redactionOf('abcd-123\\')(String.raw`{"a":"abcd-123\\"}`)).toBe(String.raw`{"a":"[redacted]\\"}`);
    expect(redactionOf('abc-123é')('<abc-123é\udd11>')).toBe('<[redacted]\udd11>');
    expect(redactionOf('abc-1234\ud83d')(String.raw`<abc-1234\ud83d.>`)).toBe('<[redacted].>');
    expect(redactionOf('abcd-12%')('<abcd-12%41>')).toBe('<[redacted]41>');
    expect(redactionOf('41-abcd-1')('<%41-abcd-1>')).toBe('<%[redacted]>');
  });

  test('an encoded secret before a plain one goes as well', () => {
    const { addSecret, redact } = createRedaction();
    addSecret('A', 'ab+cd-12');
    addSecret('B', 'other-secret');
    expect(redact('ab%2Bcd-12, other-secret, ab%2Bcd-12')).toBe('[redacted], [redacted], [redacted]');
  });
});

describe('in Base64', () => {
  test.each(['abcd-1234', 'abcd-12345', 'abcd-123456', 'Zx9!'])(
    '%s, at each position of a group',
    (secret) => {
      const { addSecret, redact } = createRedaction();
      addSecret('TOKEN', secret);
      for (const before of ['', '1', '12', '123']) {
        const redacted = redact(base64(`${before}${secret}`));
        expect(redacted).toContain('[redacted]');
        // What is left around it holds at most the bits that it shares with its neighbours.
        expect(redacted.replace('[redacted]', '').replaceAll('=', '').length).toBeLessThanOrEqual(
          Math.ceil((before.length * 8) / 6) + 1,
        );
      }
    },
  );
});

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
  const start = '{"level":100,"time":"2026-11-21T10:00:00.000Z"';
  destination.write(`${start},"text":"${longest}"}`);
  destination.write(`no ${start},"text":"${longest}"}`);
  expect(lines).toEqual([
    '[redacted]',
    longest,
    `{"level":40,"msg":"log: a line of ${MAX_TEXT_CHARS + 1} characters was left out"}\n`,
    `${start},"msg":"log: a line of ${MAX_TEXT_CHARS + start.length + 11} characters was left out"}\n`,
    `{"level":40,"msg":"log: a line of ${MAX_TEXT_CHARS + start.length + 14} characters was left out"}\n`,
  ]);
});
