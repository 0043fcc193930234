import type { DestinationStream } from 'pino';

// The last line of defence around everything that the process writes: it knows the secrets by value and takes them
// out, whatever brought them there. The first line is not to pass them on at all; nothing may rely on this one.

export interface Redaction {
  /**
   * Learns a secret. The last {@link REMEMBERED} values of each `origin`, a variable's name, are looked for: a
   * rotated token may still sit in an error, but a year of hourly tokens must not slow every line.
   */
  readonly hide: (origin: string, secret: string) => void;
  /** `text` without the secrets: plain, percent-encoded, form-encoded, JSON-escaped, and inside Base64 or base64url. */
  readonly redact: (text: string) => string;
}

const REMEMBERED = 4;

/** Anything shorter occurs in ordinary words and would turn the log into holes; it is no secret either. */
const SHORTEST_LENGTH = 4;

export const createRedaction = (): Redaction => {
  const secrets = new Map<string, readonly string[]>();
  let pattern: RegExp | undefined;

  return {
    hide: (origin, secret) => {
      const known = secrets.get(origin) ?? [];
      if (secret.length < SHORTEST_LENGTH || known.at(-1) === secret) return;
      secrets.set(origin, [...known.filter((value) => value !== secret), secret].slice(-REMEMBERED));
      const forms = new Set([...secrets.values()].flat().flatMap(formsOf));
      // Longest first: of two secrets that begin alike the whole one must go.
      const longestFirst = [...forms].toSorted((a, b) => b.length - a.length);
      pattern = new RegExp(longestFirst.join('|'), 'g');
    },
    redact: (text) => (pattern ? text.replace(pattern, '[redacted]') : text),
  };
};

/** `destination`, reached by redacted lines only. */
export const redacting = (destination: DestinationStream, redaction: Redaction): DestinationStream => ({
  write: (line) => destination.write(redaction.redact(line)),
});

/** One expression for each shape in which `secret` could turn up. */
const formsOf = (secret: string): string[] => {
  // What goes into HTTP Basic is encoded before (RFC 6749 section 2.3.1), by some more eagerly than by others.
  const texts = new Set([secret, encodeURIComponent(secret), formEncode(secret), eagerFormEncode(secret)]);
  return [escapable(secret), ...[...texts].flatMap(base64Cores).map(escapable)];
};

const formEncode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

/** As oauth4webapi does it: nothing but letters and digits stays. */
const eagerFormEncode = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[-_.!~*'()]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

/**
 * The part of `text`'s Base64 that does not depend on what stands around it, as the client id does before the secret
 * in `id:secret`: one for each of the three ways in which bytes can fall on groups of six bits.
 */
const base64Cores = (text: string): string[] => {
  const bytes = Buffer.from(text);
  return [0, 1, 2]
    .map((before) =>
      Buffer.concat([Buffer.alloc(before), bytes])
        .toString('base64')
        .slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)),
    )
    .filter((core) => core.length >= SHORTEST_LENGTH);
};

/** An expression for `text` with each of its characters as it is, percent-encoded, or escaped as in JSON. */
const escapable = (text: string): string =>
  // A run of backslashes is one unit, or nested quantifiers would make the search slow.
  (text.match(/\\+|[^\\]/gsu) ?? []).map(escapableUnit).join('');

const escapableUnit = (unit: string): string => {
  // No encoder touches these.
  if (/^[A-Za-z0-9]$/.test(unit)) return unit;
  const percent = [...Buffer.from(unit)].map((byte) => `%${hex(byte, 2)}`).join('');
  if (unit.startsWith('\\')) return `(?:\\\\{${unit.length},}|${percent})`;
  const literal = unit.replace(/[$()*+./?[\]^{|}-]/, String.raw`\$&`);
  const unicode = unit
    .split('')
    .map((half) => String.raw`\\+u${hex(half.charCodeAt(0), 4)}`)
    .join('');
  const alternatives = [literal, String.raw`\\+${SHORT_ESCAPES[unit] ?? literal}`, unicode, percent];
  return `(?:${[...alternatives, ...(ALSO[unit] ?? [])].join('|')})`;
};

/** JSON's escapes by letter (RFC 8259 section 7). */
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\b': 'b',
  '\f': 'f',
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
};

/** A blank in a form is a plus; base64url has two characters of its own (RFC 4648 section 5). */
const ALSO: Readonly<Record<string, readonly string[]>> = { ' ': [String.raw`\+`], '+': ['-'], '/': ['_'] };

/** `value` in hexadecimal, at least `digits` long, its letters in either case. */
const hex = (value: number, digits: number): string =>
  value
    .toString(16)
    .padStart(digits, '0')
    .replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
