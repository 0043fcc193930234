// Undoes escaping, so that a secret is the same bytes however it was written: plainly, as JSON, as JSON in JSON, or as a
// form field. Different texts may result in the same bytes, but not so often that a random text looks like a secret.

export interface PlainBytes {
  /** One character per byte (latin1). */
  readonly bytes: string;
  /** For each byte, where the text that it comes from starts and ends, its escape included. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** What may be an escape sequence of the text or may be part of a secret; a scan tries both. */
export interface Reading {
  /** Whether one level of percent-encoding is removed: `a%2Bb` is `a+b`. */
  readonly percent?: boolean;
  /** Whether `\u00e9` is one character; otherwise it is the five characters `u00e9`. */
  readonly unicode?: boolean;
}

/**
 * The result is UTF-8, by these rules:
 *
 *     \"                    "     backslashes are dropped, however many
 *     \u00e9                é     with `unicode`
 *     \n, a line break      n     a control character is the letter of its JSON escape (RFC 8259 section 7)
 *     a b, a-b              a+b   a space in a form field, base64url (RFC 4648 section 5)
 *     a_b                   a/b   base64url
 *     a%2Bb                 a+b   with `percent`
 */
export const toPlainBytes = (text: string, { percent = false, unicode = true }: Reading): PlainBytes => {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  const bytes = Buffer.allocUnsafe(3 * text.length);
  const starts = new Uint32Array(bytes.length);
  const ends = new Uint32Array(bytes.length);
  let length = 0;
  const put = (byte: number, start: number, end: number): void => {
    if (byte === BACKSLASH) return;
    bytes[length] = SAME_AS[byte] ?? byte;
    starts[length] = start;
    ends[length] = end;
    length += 1;
  };

  let index = 0;
  while (index < text.length) {
    const start = index;
    const { unit, end } = unitAt(text, start, unicode);
    index = end;
    const byte = percent && unit === PERCENT ? hexAt(text, end, 2) : undefined;
    if (byte !== undefined) {
      index += 2;
      put(byte, start, index);
    } else if (unit < 0x80) {
      put(unit, start, index);
    } else if (!Number.isNaN(unit)) {
      const next = unitAt(text, index, unicode);
      const isPair = isHighSurrogate(unit) && isLowSurrogate(next.unit);
      if (isPair) index = next.end;
      const char = isPair ? String.fromCharCode(unit, next.unit) : String.fromCharCode(unit);
      for (const part of Buffer.from(char)) put(part, start, index);
    }
  }
  return { bytes: bytes.toString('latin1', 0, length), starts, ends };
};

const BACKSLASH = 0x5c;
const PERCENT = 0x25;

/** For each byte, the one that stands for it: `\n` → `n`, `-` → `+`. */
const SAME_AS = Uint8Array.from({ length: 256 }, (_, byte) => byte);
for (const pair of ['\bb', '\ff', '\nn', '\rr', '\tt', ' +', '-+', '_/'])
  SAME_AS[pair.charCodeAt(0)] = pair.charCodeAt(1);

interface Unit {
  /** A UTF-16 code unit; NaN at the end of the text. */
  readonly unit: number;
  /** The index after it. */
  readonly end: number;
}

/** The character at `from`, after any backslashes, or the one that `\u00e9` means. */
const unitAt = (text: string, from: number, unicode: boolean): Unit => {
  let at = from;
  while (text.charCodeAt(at) === BACKSLASH) at += 1;
  const escaped = unicode && at > from && text[at] === 'u' ? hexAt(text, at + 1, 4) : undefined;
  return escaped === undefined ? { unit: text.charCodeAt(at), end: at + 1 } : { unit: escaped, end: at + 5 };
};

const HEX = { 2: /[\da-f]{2}/i, 4: /[\da-f]{4}/i };

const hexAt = (text: string, from: number, digits: 2 | 4): number | undefined => {
  const hex = text.slice(from, from + digits);
  return HEX[digits].test(hex) ? Number.parseInt(hex, 16) : undefined;
};

/** The two halves of a character beyond U+FFFF. */
const isHighSurrogate = (unit: number): boolean => (unit & 0xfc_00) === 0xd8_00;

const isLowSurrogate = (unit: number): boolean => (unit & 0xfc_00) === 0xdc_00;
