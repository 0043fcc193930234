// The last line of defence around everything that the process writes: it knows the secrets by value
// and replaces them, however they got there. The first line of defence is not to pass secrets on;
// no code may rely on this one.
//
//     {"url":"redis://:s3cret/%2B@host","auth":"Basic aWQ6czNjcmV0Lys="}
//     {"url":"redis://:[redacted]@host","auth":"Basic aWQ6[redacted]="}

export type Redaction = ReturnType<typeof createRedaction>;

/**
 * Two, because an error may still quote the rotated secret; not more, or a year of hourly tokens
 * would slow every line.
 */
const MAX_VALUES = 2;

export const createRedaction = () => {
  /** By variable, the newest last; a value may have several secret parts. */
  const secrets = new Map<string, readonly (readonly string[])[]>();
  /** What is removed. Longer forms come first, because one may be a part of another. */
  let forms: readonly string[] = [];

  return {
    /** Redacts these parts of the newest value of `variable` from now on. */
    addSecret: (variable: string, parts: readonly string[]): void => {
      const values = secrets.get(variable) ?? [];
      const others = values.filter((value) => value.join('\n') !== parts.join('\n'));
      secrets.set(variable, [...others, parts].slice(-MAX_VALUES));
      const all = [...secrets.values()].flat(2).flatMap(formsOf);
      forms = [...new Set(all)].toSorted((a, b) => b.length - a.length);
    },
    /** Replaces each secret in `text` by `[redacted]`, in any of its {@link formsOf}. */
    redact: (text: string): string =>
      // To look first is three times as fast as to replace what is not there.
      forms.reduce(
        (rest, form) => (rest.includes(form) ? rest.replaceAll(form, '[redacted]') : rest),
        text,
      ),
    /** The variable of a secret that the JSON text `json` contains, in any of its forms. */
    findEcho: (json: string): string | undefined =>
      [...secrets].find(([, values]) =>
        values
          .flat()
          .flatMap(echoFormsOf)
          .some((form) => json.includes(form)),
      )?.[0],
  };
};

/** A shorter word or number would be redacted from ordinary lines; production refuses such secrets. */
const SHORTEST_SECRET = 8;

/** How programs write `secret`: as it is, JSON-escaped, percent-encoded or in Base64. */
const formsOf = (secret: string): readonly string[] => {
  if (secret.length < SHORTEST_SECRET) return [];
  // A lone surrogate cannot be encoded; a buffer replaces it.
  const text = Buffer.from(secret).toString();
  return [secret, escapeForJson(secret), encodeURIComponent(text), ...base64Cores(text)];
};

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

/**
 * A shorter text may be in a list by chance, and would keep the list from being served: an ISPB has
 * 8 digits, a CNPJ 14, and a header for the provider may have either.
 */
const SHORTEST_ECHO = 16;

/**
 * Only the ends: to look for 8,000 characters that a token endpoint chose, in an entry that the
 * provider made for it, takes a tenth of a second.
 */
const echoFormsOf = (secret: string): readonly string[] =>
  secret.length < SHORTEST_ECHO ? [] : formsOf(secret).map((form) => form.slice(-ECHO_END_CHARS));

const ECHO_END_CHARS = 64;
