import { createSecretScanner } from './secret-scanner.ts';

// The last line of defence around everything that the process writes: it knows the secrets by value and takes them
// out, whatever brought them there. The first line is not to pass them on at all; nothing may rely on this one.

export interface Redaction {
  /**
   * Learns a secret. The last {@link REMEMBERED} values of each `origin`, a variable's name, are looked for: a
   * rotated token may still sit in an error, but a year of hourly tokens must not slow every line. What
   * {@link isLookedFor} excludes is ignored.
   */
  readonly addSecret: (origin: string, secret: string) => void;
  /**
   * `text` without the secrets: plain, percent-encoded, form-encoded, JSON-escaped, and inside Base64 or base64url. Never
   * throws. What is longer than {@link MAX_TEXT_CHARS} is cut off there.
   */
  readonly redact: (text: string) => string;
}

const REMEMBERED = 4;

/** No line or report of this service comes near it. */
export const MAX_TEXT_CHARS = 262_144;

export const createRedaction = (): Redaction => {
  const secrets = new Map<string, readonly string[]>();
  let scanner = createSecretScanner([]);

  return {
    addSecret: (origin, secret) => {
      const known = secrets.get(origin) ?? [];
      if (known.at(-1) === secret || !isLookedFor(secret)) return;
      secrets.set(origin, [...known.filter((value) => value !== secret), secret].slice(-REMEMBERED));
      scanner = createSecretScanner([...secrets.values()].flat());
    },
    redact: (text) => {
      const bounded = text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}… (cut off)\n` : text;
      const { spans } = scanner.scan(bounded);
      if (spans.length === 0) return bounded;
      const kept = spans.map(({ from }, index) => bounded.slice(spans[index - 1]?.to ?? 0, from));
      return [...kept, bounded.slice(spans.at(-1)?.to)].join('[redacted]');
    },
  };
};

/**
 * A secret of eight characters and more; a shorter one from four up if it mixes letters, digits and other signs. A word
 * such as `wrong`, or a number, would turn ordinary lines into holes: production refuses such tokens. Backslashes do
 * not count, since encoders multiply them.
 */
export const isLookedFor = (secret: string): boolean => {
  const counted = secret.replaceAll('\\', '');
  if (counted.length >= 8) return true;
  return counted.length >= 4 && !/^(?:[A-Za-z]+|\d+|[^A-Za-z\d]+)$/.test(counted);
};

interface LineWriter {
  write(line: string): void;
}

/** `destination`, reached by redacted lines only; a line of more than {@link MAX_TEXT_CHARS} is replaced by a note. */
export const redacting = (destination: LineWriter, redaction: Redaction): LineWriter => ({
  write: (line) =>
    destination.write(line.length > MAX_TEXT_CHARS ? noteOnLength(line) : redaction.redact(line)),
});

/** Cutting a line would leave half of a JSON object. */
const noteOnLength = (line: string): string => {
  const begin = /^\{"level":\d+,"time":"[\d:.TZ-]+"/.exec(line)?.[0] ?? '{"level":40';
  return `${begin},"msg":"log: a line of ${line.length} characters was left out"}\n`;
};
