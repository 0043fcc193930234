import { createSecretRemover } from './secret-scanner.ts';

// The last line of defence around everything that the process writes: it knows the secrets by value and replaces them,
// however they got there. The first line of defence is not to pass secrets on; no code may rely on this one.
//
//     {"url":"redis://:s3cret/%2B@host","auth":"Basic aWQ6czNjcmV0Lys="}
//     {"url":"redis://:[redacted]@host","auth":"Basic aWQ6[redacted]="}

export type Redaction = ReturnType<typeof createRedaction>;

const MAX_VALUES = 4;

/** Far more than any line or report of this service has. */
export const MAX_TEXT_CHARS = 262_144;

export const createRedaction = () => {
  const secrets = new Map<string, readonly string[]>();
  let removeSecrets = createSecretRemover([]);

  return {
    /**
     * Redacts `secret` from now on. `origin` is the name of its variable, of which the last {@link MAX_VALUES} values are
     * kept: an error may still quote a rotated token, but a year of hourly tokens must not slow down every line. A secret
     * that is not {@link isLookedFor} is ignored.
     */
    addSecret: (origin: string, secret: string): void => {
      const known = secrets.get(origin) ?? [];
      if (known.at(-1) === secret || !isLookedFor(secret)) return;
      secrets.set(origin, [...known.filter((value) => value !== secret), secret].slice(-MAX_VALUES));
      removeSecrets = createSecretRemover([...secrets.values()].flat());
    },
    /**
     * Replaces each secret in `text` by `[redacted]`: plain, percent-encoded, form-encoded, JSON-escaped, and in Base64 or
     * base64url; not where letters and digits are encoded one by one. Never throws. A text longer than
     * {@link MAX_TEXT_CHARS} is cut there.
     */
    redact: (text: string): string =>
      removeSecrets(text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}… (cut off)\n` : text),
  };
};

/**
 * Whether `secret` is redacted: if it has at least eight characters, or at least four of different kinds, such as `Zx9!`. A
 * word such as `wrong` or a number would be redacted from ordinary lines; production refuses such secrets. Backslashes do
 * not count, because encoders multiply them.
 */
export const isLookedFor = (secret: string): boolean => {
  const counted = secret.replaceAll('\\', '');
  if (counted.length >= 8) return true;
  return counted.length >= 4 && !/^(?:[A-Za-z]+|\d+|[^A-Za-z\d]+)$/.test(counted);
};

/** Redacts each line before `destination` gets it, and replaces a line of more than {@link MAX_TEXT_CHARS} by a note. */
export const redacting = (destination: LineWriter, { redact }: Pick<Redaction, 'redact'>): LineWriter => ({
  write: (line) => destination.write(line.length > MAX_TEXT_CHARS ? lengthNote(line) : redact(line)),
});

interface LineWriter {
  write(line: string): void;
}

/** The line cannot be cut, because it is a JSON object. */
const lengthNote = (line: string): string => {
  const start =
    /^\{"level":\d+,"severity":"[A-Z]+","time":"[\d:.TZ-]+"/.exec(line)?.[0] ??
    '{"level":40,"severity":"WARNING"';
  return `${start},"msg":"log: a line of ${line.length} characters was left out"}\n`;
};
