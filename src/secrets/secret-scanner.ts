import { formsOf, SHORTEST_FORM } from './encoded-forms.ts';
import { createSearch } from './multi-search.ts';
import { toPlainBytes, type PlainBytes, type Reading } from './plain-bytes.ts';

// Finds secrets in a text, however they are encoded there, in steps that grow with the length of the text and not with
// what the text or a secret is made of.

/** `from` inclusive, `to` exclusive, in UTF-16 units. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface SecretScanner {
  /** Where there are secrets in `text`, in order, none touching another; `steps`: how often a character was looked at. */
  scan(text: string): { readonly spans: readonly Span[]; readonly steps: number };
}

/**
 * Of a long secret the beginning is searched for, and what follows is compared: the search stays small, and a secret whose
 * end was cut off is found as well.
 */
const SEARCHED_BYTES = 32;

export const createSecretScanner = (secrets: readonly string[]): SecretScanner => {
  // Through a buffer, since half of a surrogate pair cannot be encoded.
  const forms = secrets.flatMap((secret) => formsOf(Buffer.from(secret).toString()));
  const mayHold = createPreCheck(forms);
  /** By how they begin: how each secret that begins so goes on. */
  const heads = new Map<string, { readonly head: Uint8Array; readonly tails: Uint8Array[] }>();
  for (const bytes of distinct(forms.flatMap(plainBytesOf))) {
    if (bytes.length < SHORTEST_FORM) continue;
    const head = bytes.subarray(0, SEARCHED_BYTES);
    const { tails } = heads.get(head.join()) ?? { tails: [] };
    heads.set(head.join(), { head, tails: [...tails, bytes.subarray(SEARCHED_BYTES)] });
  }
  const searched = [...heads.values()];
  const search = createSearch(searched.map(({ head }) => head));

  const scanBytes = (plain: PlainBytes): { readonly spans: Span[]; readonly steps: number } => {
    const { matches, steps } = search.find(plain.bytes, plain.length);
    let followed = 0;
    let followedTo = 0;
    const spans = matches.map(({ pattern, end }) => {
      const { head, tails } = searched[pattern] ?? { head: new Uint8Array(), tails: [] };
      // Not inside what was followed already: a text that repeats a secret's beginning would be read over and over.
      const lengths = end < followedTo ? [] : tails.map((tail) => commonLength(tail, plain, end));
      followed += lengths.reduce((sum, length) => sum + length + 1, 0);
      const to = Math.max(end, ...lengths.map((length) => end + length));
      followedTo = Math.max(followedTo, to);
      return { from: plain.starts[end - head.length] ?? 0, to: plain.ends[to - 1] ?? 0 };
    });
    return { spans, steps: plain.steps + steps + followed };
  };

  return {
    scan: (text) => {
      if (!mayHold(text)) return { spans: [], steps: 0 };
      // A % or \u may be a secret's own, or begin a code: each reading has its turn.
      const readings: Reading[] = [
        {},
        ...(text.includes('%') ? [{ percent: true }] : []),
        ...(text.includes(String.raw`\u`) ? [{ unicode: false }] : []),
      ];
      const results = readings.map((reading) => scanBytes(toPlainBytes(text, reading)));
      return {
        spans: merge(results.flatMap(({ spans }) => spans)),
        steps: results.reduce((sum, { steps }) => sum + steps, 0),
      };
    },
  };
};

/** Where a secret holds \u00e9 itself, a text may mean those characters or the one that they escape. */
const plainBytesOf = (form: string): Uint8Array[] =>
  [true, false].map((unicode) => {
    const { bytes, length } = toPlainBytes(form, { unicode });
    return bytes.subarray(0, length);
  });

const distinct = (texts: readonly Uint8Array[]): Uint8Array[] => [
  ...new Map(texts.map((bytes) => [bytes.join(), bytes])).values(),
];

const commonLength = (tail: Uint8Array, plain: PlainBytes, from: number): number => {
  let length = 0;
  while (length < tail.length && from + length < plain.length && tail[length] === plain.bytes[from + length])
    length += 1;
  return length;
};

/**
 * Tells at the cost of a microsecond that an ordinary line holds no secret: no encoder touches letters and digits, so the
 * longest run of them in each form must be there as it is. A form without such a run costs every line a full search.
 */
const createPreCheck = (forms: readonly string[]): ((text: string) => boolean) => {
  if (forms.length === 0) return () => false;
  const runs = forms.map((form) =>
    (form.match(/[A-Za-z0-9]+/g) ?? []).reduce(
      (longest, run) => (run.length > longest.length ? run : longest),
      '',
    ),
  );
  if (runs.some((run) => run.length < SHORTEST_RUN)) return () => true;
  // Letters and digits only, and no repetition: nothing that could be slow.
  const anyRun = new RegExp([...new Set(runs.map((run) => run.slice(0, LONGEST_RUN)))].join('|'));
  return (text) => anyRun.test(text);
};

const SHORTEST_RUN = 3;
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
