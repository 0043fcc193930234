import { encodedForms, escapeForJson } from './encoded-forms.ts';

// The last line of defence around everything that the process writes: it knows the secrets by value
// and replaces them, however they got there. The first line of defence is not to pass secrets on;
// no code may rely on this one.
//
//     {"url":"redis://:s3cret/%2B@host","auth":"Basic aWQ6czNjcmV0Lys="}
//     {"url":"redis://:[redacted]@host","auth":"Basic aWQ6[redacted]="}

export type Redaction = ReturnType<typeof createRedaction>;

const MAX_VALUES = 4;

/** Far more than any line or report of this service has. */
export const MAX_TEXT_CHARS = 262_144;

export const createRedaction = () => {
  const secrets = new Map<string, readonly string[]>();
  let echoes: readonly (readonly [origin: string, forms: readonly string[]])[] = [];
  let removeSecrets = (text: string): string => text;

  return {
    /**
     * Redacts `secret` from now on. `origin` is the name of its variable, of which the last {@link
     * MAX_VALUES} values are kept: an error may still quote a rotated token, but a year of hourly
     * tokens must not slow down every line. A secret that is not {@link isRedactable} is ignored.
     */
    addSecret: (origin: string, secret: string): void => {
      const values = secrets.get(origin) ?? [];
      if (values.at(-1) === secret || !isRedactable(secret)) return;
      secrets.set(
        origin,
        [...values.filter((value) => value !== secret), secret].slice(-MAX_VALUES),
      );
      removeSecrets = createRemover([...secrets.values()].flat().flatMap(encodedForms));
      echoes = [...secrets].map(
        ([variable, each]) => [variable, each.flatMap(echoFormsOf)] as const,
      );
    },
    /**
     * Replaces each secret in `text` by `[redacted]`, in any of its {@link encodedForms}. Never
     * throws. A text longer than {@link MAX_TEXT_CHARS} is cut there.
     */
    redact: (text: string): string =>
      removeSecrets(
        text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}… (cut off)\n` : text,
      ),
    /**
     * The origin of a secret that a name or a text in `json` contains, in any of its {@link
     * encodedForms}, also where any of their characters are percent-encoded. Undefined if there is
     * none, or only one of fewer than {@link SHORTEST_ECHO} characters.
     */
    findEcho: (json: string): string | undefined => {
      const texts = [json, ...decodings(json)];
      return echoes.find(([, forms]) =>
        forms.some((form) => texts.some((text) => text.includes(form))),
      )?.[0];
    },
  };
};

/**
 * Whether `secret` is redacted: if it has at least eight characters, or at least four of different
 * kinds, such as `Zx9!`. A word such as `wrong` or a number would be redacted from ordinary lines;
 * production refuses such secrets. Backslashes do not count, because encoders multiply them.
 */
export const isRedactable = (secret: string): boolean => {
  const counted = secret.replaceAll('\\', '');
  if (counted.length >= 8) return true;
  return counted.length >= 4 && !/^(?:[A-Za-z]+|\d+|[^A-Za-z\d]+)$/.test(counted);
};

/** A shorter text may be in a list by chance, and would keep the list from being served. */
const SHORTEST_ECHO = 8;

/**
 * The end of a secret is as good a sign as all of it. To look for 8,000 characters that a token
 * endpoint chose, in an entry that the provider made for it, takes a tenth of a second.
 */
const ECHO_END_CHARS = 64;

/**
 * As they may be in a string of JSON. A secret such as `"level":40` does not match the structure of
 * JSON.
 */
const echoFormsOf = (secret: string): readonly string[] =>
  secret.replaceAll('\\', '').length < SHORTEST_ECHO
    ? []
    : [
        ...new Set(encodedForms(secret).map((form) => escapeForJson(form).slice(-ECHO_END_CHARS))),
      ].filter(({ length }) => length >= SHORTEST_ECHO);

/** `json` with its percent-encoded parts decoded once, and twice. */
const decodings = (json: string): readonly string[] => {
  const once = decodePercent(json);
  return once === json ? [] : [once, decodePercent(once)];
};

const decodePercent = (json: string): string =>
  json.replaceAll(/(?:%[\da-f]{2})+/gi, (codes) =>
    escapeForJson(Buffer.from(codes.replaceAll('%', ''), 'hex').toString()),
  );

/**
 * Replaces the forms in a text, longer ones first. An ordinary line costs one search, for their
 * beginnings.
 */
const createRemover = (forms: readonly string[]): ((text: string) => string) => {
  const longestFirst = [...new Set(forms)]
    .filter(({ length }) => length >= SHORTEST_FORM)
    .toSorted((a, b) => b.length - a.length);
  const starts = new Set(longestFirst.map((form) => form.slice(0, START_CHARS)));
  const literals = [...starts].map((start) => start.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  const anyStart = new RegExp(literals.join('|'));
  return (text) =>
    anyStart.test(text)
      ? longestFirst.reduce((rest, form) => rest.replaceAll(form, '[redacted]'), text)
      : text;
};

/** Enough that few ordinary lines contain one, and that a long secret makes no large expression. */
const START_CHARS = 8;
/** Shorter forms, such as parts of Base64, occur in ordinary text. */
const SHORTEST_FORM = 4;

/**
 * Redacts each line before `destination` gets it, and replaces a line of more than {@link
 * MAX_TEXT_CHARS} by a note.
 */
export const redacting = (
  destination: LineWriter,
  { redact }: Pick<Redaction, 'redact'>,
): LineWriter => ({
  write: (line) =>
    destination.write(line.length > MAX_TEXT_CHARS ? lengthNote(line) : redactLine(line, redact)),
});

type Redact = Redaction['redact'];

/**
 * The line with each name and value redacted separately: a secret that is also a fragment of JSON,
 * such as `"level":40`, must not make it invalid.
 */
const redactLine = (line: string, redact: Redact): string => {
  const redacted = redact(line);
  if (redacted === line) return line;
  try {
    const members = Object.entries<unknown>(JSON.parse(line)).map(([name, value]) => [
      OWN_NAMES.has(name) ? name : redact(name),
      LOGGERS_NAMES.has(name) ? value : redactValue(value, redact),
    ]);
    return `${JSON.stringify(Object.fromEntries(members))}\n`;
  } catch {
    return redacted;
  }
};

/** The members whose values come from the logger. */
const LOGGERS_NAMES = new Set(['level', 'severity', 'time']);

/**
 * Names by which programs that read the log find what they look for. A token endpoint may grant a
 * token that is one of them.
 */
const OWN_NAMES = new Set([
  ...LOGGERS_NAMES,
  'requestId',
  'traceId',
  'method',
  'path',
  'statusCode',
  'durationMs',
  'bytes',
  'ip',
  'msg',
  'kind',
  'code',
]);

const redactValue = (value: unknown, redact: Redact): unknown => {
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [redact(name), redactValue(member, redact)]),
    );
  const text = String(value);
  const redacted = redact(text);
  return redacted === text ? value : redacted;
};

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
