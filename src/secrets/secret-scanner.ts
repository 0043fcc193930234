import { formsOf } from './encoded-forms.ts';
import { toPlainBytes, type PlainBytes, type Reading } from './plain-bytes.ts';

// Finds secrets in a text in whatever encoding, in time that is linear in the length of the text, whatever the text and the
// secrets are.

/** `from` inclusive, `to` exclusive, in UTF-16 units. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Returns where there are secrets in the text: in order, and neither overlapping nor adjacent. */
export type SecretScanner = (text: string) => readonly Span[];

/**
 * Only the first bytes of a long secret are searched for, and the rest is compared where they are found. The search stays
 * cheap, and a secret whose end was cut off is found as well.
 */
const HEAD_BYTES = 32;

/** What is shorter occurs in ordinary text. */
const SHORTEST_BYTES = 4;

export const createSecretScanner = (secrets: readonly string[]): SecretScanner => {
  // A lone surrogate cannot be encoded; a buffer replaces it.
  const forms = secrets.flatMap((secret) => formsOf(Buffer.from(secret).toString()));
  /** By their first bytes: how the secrets that start with them continue. */
  const tailsOf = new Map<string, string[]>();
  for (const bytes of new Set(forms.flatMap(plainBytesOf))) {
    if (bytes.length < SHORTEST_BYTES) continue;
    const head = bytes.slice(0, HEAD_BYTES);
    tailsOf.set(head, [...(tailsOf.get(head) ?? []), bytes.slice(HEAD_BYTES)]);
  }
  if (tailsOf.size === 0) return () => [];
  const mayContainSecret = createPreCheck(forms);
  // Longer ones first, since a shorter one may be the beginning of a longer one.
  const heads = [...tailsOf.keys()].toSorted((a, b) => b.length - a.length);
  const search = new RegExp(heads.map(toPattern).join('|'), 'g');

  const scanBytes = ({ bytes, starts, ends }: PlainBytes): Span[] => {
    const spans: Span[] = [];
    let comparedTo = 0;
    search.lastIndex = 0;
    for (let match = search.exec(bytes); match; match = search.exec(bytes)) {
      const { index, 0: head } = match;
      const headEnd = index + head.length;
      // Not again in what has been compared: a text that repeats a secret's beginning would be read over and over.
      const tails = headEnd < comparedTo ? [] : (tailsOf.get(head) ?? []);
      const end = Math.max(headEnd, ...tails.map((tail) => headEnd + commonLength(tail, bytes, headEnd)));
      comparedTo = Math.max(comparedTo, end);
      spans.push({ from: starts[index] ?? 0, to: ends[end - 1] ?? 0 });
      // Another secret may begin inside this one.
      search.lastIndex = index + 1;
    }
    return spans;
  };

  return (text) => {
    const hasPercent = text.includes('%');
    const hasUnicode = text.includes(String.raw`\u`);
    const hasEscapes = hasPercent || hasUnicode;
    if (!mayContainSecret(text) && !(hasEscapes && mayContainSecret(decodeLetters(text)))) return [];
    const readings: Reading[] = [
      {},
      ...(hasPercent ? [{ percent: true }] : []),
      ...(hasUnicode ? [{ unicode: false }] : []),
    ];
    return merge(readings.flatMap((reading) => scanBytes(toPlainBytes(text, reading))));
  };
};

/** A secret may itself contain the characters `\u00e9`, and a text may quote them or mean them as an escape. */
const plainBytesOf = (form: string): string[] =>
  [true, false].map((unicode) => toPlainBytes(form, { unicode }).bytes);

const toPattern = (bytes: string): string =>
  bytes.replaceAll(/[^A-Za-z\d]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);

const commonLength = (tail: string, bytes: string, from: number): number => {
  let length = 0;
  while (length < tail.length && tail[length] === bytes[from + length]) length += 1;
  return length;
};

/**
 * Recognises in a microsecond that an ordinary line contains no secret: encoders leave letters and digits as they are, so
 * the longest run of them in one of the forms must be there. The shorter it is, the more lines cost a full search.
 */
const createPreCheck = (forms: readonly string[]): ((text: string) => boolean) => {
  const runs = forms.map((form) =>
    (form.match(/[A-Za-z0-9]+/g) ?? []).reduce(
      (longest, run) => (run.length > longest.length ? run : longest),
      '',
    ),
  );
  const anyRun = new RegExp([...new Set(runs.map((run) => run.slice(0, LONGEST_RUN)))].join('|'));
  return (text) => anyRun.test(text);
};

/** No encoder escapes letters and digits, but a client may. The lookbehind keeps a long run of backslashes linear. */
const decodeLetters = (text: string): string =>
  text.replaceAll(/(?:%|(?<!\\)\\+u00)(3\d|[46][1-9a-f]|[57][\da])/gi, (_escape, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );

const LONGEST_RUN = 16;

const merge = (spans: readonly Span[]): Span[] => {
  const merged: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || span.from > last.to) merged.push(span);
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
  }
  return merged;
};
