// A text as bytes in which it no longer matters how it was escaped: the same secret gives the same bytes whether it is
// written plainly, as JSON, as JSON in JSON, or as a form field. Different texts may give the same bytes; what is lost
// is too little to make a random text look like a secret.

export interface PlainBytes {
  readonly bytes: Uint8Array;
  readonly length: number;
  /** For each byte: the index in the text where what gave it begins, escape included, and the index after its end. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** How often a character was looked at: a small multiple of the text's length. */
  readonly steps: number;
}

export interface Reading {
  readonly percent?: boolean;
  readonly unicode?: boolean;
}

/**
 * Letters and digits stay: no encoder touches them. Everything else is UTF-8, with these rules:
 *
 *     {"a":"\"\u00e9\n"}    backslashes are dropped, `\u00e9` is its character, a line break is its letter n
 *     a+b, a b, a-b         blank and base64url's minus are a plus, as in forms and in Base64
 *     a/b, a_b              base64url's underscore is a slash
 *     a%2Bb                 with `percent`: one level of percent-encoding is taken off
 *
 * Without `unicode`, `\u00e9` is the five characters u00e9: so it is in a text that does not mean JSON.
 */
export const toPlainBytes = (text: string, { percent = false, unicode = true }: Reading): PlainBytes => {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  const room = 3 * text.length;
  const bytes = new Uint8Array(room);
  const starts = new Uint32Array(room);
  const ends = new Uint32Array(room);
  let length = 0;
  const put = (byte: number, start: number, end: number): void => {
    const plain = EQUAL_TO[byte] ?? byte;
    if (plain === BACKSLASH) return;
    bytes[length] = plain;
    starts[length] = start;
    ends[length] = end;
    length += 1;
  };

  let steps = 0;
  let index = 0;
  const next = (): Unit => {
    const afterBackslashes = skipBackslashes(text, index);
    steps += afterBackslashes - index + 1;
    return (
      (unicode && afterBackslashes > index && unicodeEscapeAt(text, afterBackslashes)) || {
        unit: text.charCodeAt(afterBackslashes),
        end: afterBackslashes + 1,
        isEscaped: false,
      }
    );
  };

  while (index < text.length) {
    const start = index;
    const { unit, end, isEscaped } = next();
    index = end;
    const byte = percent && unit === PERCENT && !isEscaped ? hexAt(text, end, 2) : undefined;
    if (byte !== undefined && !isLetterOrDigit(byte)) {
      index += 2;
      put(byte, start, index);
    } else if (unit < 0x80) {
      put(unit, start, index);
    } else if (!Number.isNaN(unit)) {
      const low = isHighSurrogate(unit) ? next() : undefined;
      const isPair = low !== undefined && isLowSurrogate(low.unit);
      if (isPair) index = low.end;
      const char = isPair ? String.fromCharCode(unit, low.unit) : String.fromCharCode(unit);
      for (const part of ENCODER.encode(char)) put(part, start, index);
    }
  }
  return { bytes, length, starts, ends, steps };
};

const BACKSLASH = 0x5c;
const PERCENT = 0x25;

/** What stands for a byte, by byte: JSON's escapes by letter (RFC 8259 section 7), blanks in forms, base64url (RFC 4648). */
const EQUAL_TO: readonly (number | undefined)[] = Array.from({ length: 256 }, (_, byte) => {
  const equal: Readonly<Record<string, string>> = {
    '\b': 'b',
    '\f': 'f',
    '\n': 'n',
    '\r': 'r',
    '\t': 't',
    ' ': '+',
    '-': '+',
    _: '/',
  };
  return equal[String.fromCharCode(byte)]?.charCodeAt(0);
});

interface Unit {
  /** A UTF-16 code unit; NaN at the end of the text. */
  readonly unit: number;
  /** Index after it. */
  readonly end: number;
  readonly isEscaped: boolean;
}

const skipBackslashes = (text: string, from: number): number => {
  let index = from;
  while (text.charCodeAt(index) === BACKSLASH) index += 1;
  return index;
};

/** A u and four digits, after backslashes; never a letter or a digit, which nobody escapes. */
const unicodeEscapeAt = (text: string, at: number): Unit | undefined => {
  const unit = text[at] === 'u' ? hexAt(text, at + 1, 4) : undefined;
  return unit === undefined || isLetterOrDigit(unit) ? undefined : { unit, end: at + 5, isEscaped: true };
};

const hexAt = (text: string, from: number, digits: number): number | undefined => {
  let value = 0;
  for (let index = from; index < from + digits; index += 1) {
    const digit = HEX_DIGITS.indexOf(text.charAt(index).toLowerCase() || '?');
    if (digit < 0) return undefined;
    value = value * 16 + digit;
  }
  return value;
};

const HEX_DIGITS = '0123456789abcdef';

const isLetterOrDigit = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);

const isHighSurrogate = (code: number): boolean => code >= 0xd8_00 && code <= 0xdb_ff;

const isLowSurrogate = (code: number): boolean => code >= 0xdc_00 && code <= 0xdf_ff;

const ENCODER = new TextEncoder();
