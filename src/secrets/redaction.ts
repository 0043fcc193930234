import { parseJson } from '../json.ts';

// The last line of defence around everything that the process writes: it knows the secrets by value
// and replaces them, however they got there. The first line of defence is not to pass secrets on;
// no code may rely on this one.
//
//     {"url":"redis://:s3cret/%2B@host","auth":"Basic aWQ6czNjcmV0Lys="}
//     {"url":"redis://:[redacted]@host","auth":"Basic aWQ6[redacted]="}

export type Redaction = ReturnType<typeof createRedaction>;

/** An error may still quote a rotated secret; a year of hourly tokens must not slow every line. */
const MAX_VALUES = 2;

/** A name for each part of a secret, so that all are redacted, and the one before of each. */
export const partName = (variable: string, index: number): string =>
  index === 0 ? variable : `${variable} (part ${index + 1})`;

export const createRedaction = () => {
  /** By variable, the newest last. */
  const secrets = new Map<string, readonly string[]>();
  let echoes: readonly (readonly [variable: string, forms: readonly string[]])[] = [];
  let removeSecrets = (text: string): string => text;

  return {
    /** Redacts `secret`, the newest value of `variable`, from now on. */
    addSecret: (variable: string, secret: string): void => {
      const values = secrets.get(variable) ?? [];
      if (values.at(-1) === secret || !isRedactable(secret)) return;
      const others = values.filter((value) => value !== secret);
      secrets.set(variable, [...others, secret].slice(-MAX_VALUES));
      removeSecrets = createRemover([...secrets.values()].flat().flatMap(formsOf));
      echoes = [...secrets].map(([each, texts]) => [each, texts.flatMap(echoFormsOf)] as const);
    },
    /** Replaces each secret in `text` by `[redacted]`, in any of its {@link formsOf}. */
    redact: (text: string): string => removeSecrets(text),
    /** The variable of a secret that the JSON text `json` contains, in any of its forms. */
    findEcho: (json: string): string | undefined =>
      echoes.find(([, forms]) => forms.some((form) => json.includes(form)))?.[0],
  };
};

/**
 * Whether `secret` is redacted: if it has at least eight characters, or at least four of different
 * kinds, such as `Zx9!`. A word such as `wrong` or a number would be redacted from ordinary lines;
 * production refuses such secrets.
 */
export const isRedactable = (secret: string): boolean =>
  secret.length >= 8 || (secret.length >= 4 && !/^(?:[A-Za-z]+|\d+|[^A-Za-z\d]+)$/.test(secret));

/**
 * How programs write `secret`: as it is, percent- or form-encoded, each of these also in Base64 or
 * base64url, and all escaped for JSON once, or twice, as in a line of the log.
 */
export const formsOf = (secret: string): readonly string[] => {
  // A lone surrogate cannot be encoded; a buffer replaces it.
  const text = Buffer.from(secret).toString();
  const encoded = [
    text,
    encodeURIComponent(text),
    new URLSearchParams([['', text]]).toString().slice(1),
  ];
  const inLowerCase = encoded.map((form) => form.replaceAll(/%../g, (code) => code.toLowerCase()));
  const base64 = encoded.flatMap(base64Cores);
  const base64url = base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'));
  const plain = [secret, ...encoded, ...inLowerCase, ...base64, ...base64url];
  const inJson = plain.map(escapeForJson);
  return [...new Set([...plain, ...inJson, ...inJson.map(escapeForJson)])].filter(
    ({ length }) => length >= SHORTEST_FORM,
  );
};

/** Shorter forms, such as parts of Base64, occur in ordinary text. */
const SHORTEST_FORM = 4;

/** `text` as it is between the quotes of a JSON text. */
const escapeForJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * The part of `text` in Base64 that does not depend on the bytes around it, such as the client id
 * in `id:secret`: one for each of the three positions of a byte in a Base64 group.
 */
const base64Cores = (text: string): string[] => {
  const bytes = Buffer.from(text);
  return [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)),
  );
};

/** A shorter text may be in a list by chance, and would keep the list from being served. */
const SHORTEST_ECHO = 8;

/**
 * As they may be in a string of JSON, and only their ends: to look for 8,000 characters that a token
 * endpoint chose, in an entry that the provider made for it, takes a tenth of a second.
 */
const echoFormsOf = (secret: string): readonly string[] =>
  secret.length < SHORTEST_ECHO
    ? []
    : formsOf(secret)
        .map((form) => escapeForJson(form).slice(-ECHO_END_CHARS))
        .filter(({ length }) => length >= SHORTEST_ECHO);

const ECHO_END_CHARS = 64;

/**
 * Replaces the forms in a text, longer ones first. An ordinary line costs one search, for their
 * beginnings.
 */
const createRemover = (forms: readonly string[]): ((text: string) => string) => {
  const longestFirst = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
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

interface LineWriter {
  write(line: string): void;
}

/** Redacts each line, which is JSON, before `destination` gets it. */
export const redacting = (
  destination: LineWriter,
  { redact }: Pick<Redaction, 'redact'>,
): LineWriter => ({
  write: (line) => {
    const redacted = redact(line);
    const isWhole = redacted === line || parseJson(redacted) !== undefined;
    destination.write(isWhole ? redacted : LEFT_OUT);
  },
});

/** A token endpoint may grant a token that is a piece of every line, such as `"level":30`. */
const LEFT_OUT =
  '{"level":40,"severity":"WARNING","msg":"log: a line was left out, because a secret is a part of its structure"}\n';
