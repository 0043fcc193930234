import { escapeForForms } from '../form-escapes.ts';

// Finds secrets in a text: plain, JSON-escaped however often, percent-encoded, form-encoded, or in Base64; not where letters and
// digits are escaped one by one. The time is linear in the length of the text, whatever the text and the secrets are.

/** Of a longer secret, so many characters are enough: the rest may have been cut off. */
const HEAD_CHARS = 32;

/** What is shorter, in characters, occurs in ordinary text. */
const SHORTEST = 4;

/** A function that replaces the secrets in a text by `[redacted]`. */
export const createSecretRemover = (secrets: readonly string[]): ((text: string) => string) => {
  const forms = secrets.flatMap(formsOf);
  const needles = toNeedles(forms.map((form) => toPlainBytes(form).bytes));
  // Also sought as written: a `\` before a secret can form an escape with its first letter. Trailing backslashes are left out,
  // since one may be half of an escape.
  const literalNeedles = toNeedles(secrets.map((secret) => secret.replace(/(?<!\\)\\+$/, '')));
  if (needles.length + literalNeedles.length === 0) return (text) => text;
  const mayContainSecret = createPreCheck(forms);
  return (text) => {
    if (!mayContainSecret(text)) return text;
    const { bytes, starts, ends } = toPlainBytes(text);
    const unescaped = needles.flatMap((needle) => findIn(bytes, needle));
    return withoutSpans(text, [
      ...literalNeedles.flatMap((needle) => findIn(text, needle)),
      ...unescaped.map(({ from, to }) => ({ from: starts[from] ?? 0, to: ends[to - 1] ?? 0 })),
    ]);
  };
};

/**
 * What to search for to find `secret` plain and in Base64, also when it was percent- or form-encoded first, as client
 * credentials are (RFC 6749 section 2.3.1). Other escapes are undone by {@link toPlainBytes}.
 *
 *     s3cret/+   plain
 *     czNjcmV0Lys   in Base64: aWQ6czNjcmV0Lys= is id:s3cret/+
 *     czNjcmV0JTJGJTJC   percent-encoded, in Base64: aWQ6czNjcmV0JTJGJTJC is id:s3cret%2F%2B
 */
export const formsOf = (secret: string): string[] => {
  // A lone surrogate cannot be encoded; a buffer replaces it.
  const text = Buffer.from(secret).toString();
  const percentEncoded = encodeURIComponent(text);
  const formEncoded = new URLSearchParams([['', text]]).toString().slice(1);
  // As some clients do it: everything but letters and digits is encoded.
  const eagerlyEncoded = percentEncoded
    .replaceAll(/[-_.!~*'()]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
  const encoded = [text, percentEncoded, formEncoded, eagerlyEncoded, escapeForForms(text)];
  return [text, ...[...new Set(encoded)].flatMap(base64Cores)];
};

/**
 * The part of `text` in Base64 that does not depend on the bytes around it, such as the client id in `id:secret`: one for
 * each of the three positions of a byte in a Base64 group.
 */
const base64Cores = (text: string): string[] => {
  const bytes = Buffer.from(text);
  return [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)),
  );
};

/**
 * A text without its escapes, so that a secret is the same UTF-8 bytes however it was written; different texts may result in the
 * same bytes, but not so often that a random text looks like a secret. `bytes` has one character per byte (latin1); `starts` and
 * `ends` say for each byte where the text that it comes from starts and ends, its escape included.
 *
 *     \"                    "     backslashes are dropped, however many
 *     \u00e9                é
 *     \n, a line break      n     a control character is the letter of its JSON escape (RFC 8259 section 7)
 *     a b, a-b              a+b   a space in a form field, base64url (RFC 4648 section 5)
 *     a_b                   a/b   base64url
 *     a%2Bb, a%252Bb        a+b   a percent-encoded sign, and one that was encoded again
 */
const toPlainBytes = (text: string) => {
  const starts: number[] = [];
  const ends: number[] = [];
  let bytes = '';
  for (const match of text.matchAll(TOKEN)) {
    const [written, high, low, unit, octet, char = ''] = match;
    const plain = octet ? unhex(octet) : utf8(high ? unhex(high, low) : unit ? unhex(unit) : char);
    for (const byte of plain) {
      if (byte === '\\') continue;
      bytes += SAME_AS.get(byte) ?? byte;
      starts.push(match.index);
      ends.push(match.index + written.length);
    }
  }
  return { bytes, starts, ends };
};

/**
 * A character as it is written, with the backslashes before it. Its groups: the high and the low half of an escaped surrogate
 * pair, another `\u` escape, a percent-encoded octet, a character as it is.
 */
const TOKEN =
  /\\*(?:(?<=\\)u(d[89ab][\da-f]{2})\\+u(d[c-f][\da-f]{2})|(?<=\\)u([\da-f]{4})|%(?:25)*([\da-f]{2})|([^\\])|$)/giu;

const unhex = (...codes: (string | undefined)[]): string =>
  String.fromCharCode(...codes.map((code = '') => Number.parseInt(code, 16)));

/** The bytes of one character; those of ASCII, which are most, are the character itself. */
const utf8 = (char: string): string => (char < '\u0080' ? char : Buffer.from(char).toString('latin1'));

const SAME_AS: ReadonlyMap<string, string> = new Map(
  Object.entries({ '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', ' ': '+', '-': '+', _: '/' }),
);

const toNeedles = (texts: readonly string[]): string[] =>
  [...new Set(texts)].filter(({ length }) => length >= SHORTEST);

/**
 * All that is the needle, or begins as it does for at least {@link HEAD_CHARS} characters, however it overlaps. The search of
 * Knuth, Morris and Pratt: its time is linear, because it never looks at a character of the text again.
 */
const findIn = (haystack: string, needle: string): Span[] => {
  const head = needle.slice(0, HEAD_CHARS);
  let at = haystack.indexOf(head);
  if (at === -1) return [];
  const borders = bordersOf(needle);
  const spans: Span[] = [];
  for (let matched = 0; at < haystack.length; at += 1) {
    matched = extended(needle, borders, matched, haystack[at]);
    if (matched >= head.length) spans.push({ from: at + 1 - matched, to: at + 1 });
  }
  return spans;
};

/** For each beginning of `needle`, how many of its first characters are also its last ones, all of them not counted. */
const bordersOf = (needle: string): readonly number[] => {
  const borders = [0];
  for (let at = 1; at < needle.length; at += 1)
    borders.push(extended(needle, borders, borders[at - 1] ?? 0, needle[at]));
  return borders;
};

/** How many characters up to `next` are the beginning of `needle`, where `matched` of those before it are. */
const extended = (needle: string, borders: readonly number[], matched: number, next?: string): number => {
  let length = matched;
  while (length > 0 && needle[length] !== next) length = borders[length - 1] ?? 0;
  return needle[length] === next ? length + 1 : 0;
};

/**
 * Recognises in a microsecond that an ordinary line contains no secret: encoders leave letters and digits as they are, so
 * the longest run of them in the head of one of the forms must be there. The shorter it is, the more lines cost a full search.
 */
const createPreCheck = (forms: readonly string[]): ((text: string) => boolean) => {
  const runs = forms.map((form) => {
    // What follows the head may have been cut off.
    const head = Buffer.from(form).toString('latin1', 0, HEAD_CHARS);
    const [longest = ''] = (head.match(/[A-Za-z\d]+/g) ?? []).toSorted((a, b) => b.length - a.length);
    return longest.slice(0, LONGEST_RUN);
  });
  const anyRun = new RegExp([...new Set(runs)].join('|'));
  return (text) => anyRun.test(text);
};

const LONGEST_RUN = 16;

/** `from` inclusive, `to` exclusive, in characters. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** Spans that overlap or follow each other at once are one. */
const withoutSpans = (text: string, spans: readonly Span[]): string => {
  let kept = '';
  let end = -1;
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    if (from > end) kept += `${text.slice(Math.max(0, end), from)}[redacted]`;
    end = Math.max(end, to);
  }
  return kept + text.slice(Math.max(0, end));
};
