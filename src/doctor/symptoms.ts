import symptoms from './symptoms.json' with { type: 'json' };

// What the doctor can tell from a symptom: symptoms.json, a table with the steps at which it is seen. A row has the likely
// cause and what to do next. Symptoms in capitals are codes of Node, OpenSSL, TLS and Redis. Words in braces are filled in.

/** What stands for the words in braces. */
export type Words = Readonly<Record<string, string>>;

const ROWS = Object.entries(symptoms).flatMap(([name, rows]) => rows.map((row) => ({ name, ...row })));

/** The row for `symptom` at one of `steps`, or theirs for anything else; undefined if there is none. */
export const findAdvice = (steps: readonly string[], symptom: string, words: Words = {}) => {
  const rowFor = (wanted: string) =>
    ROWS.find((row) => steps.includes(row.name) && row.symptoms.includes(wanted));
  const row = rowFor(symptom) ?? rowFor('anything else');
  if (!row) return undefined;
  const fillIn = (text: string) => text.replaceAll(/\{(\w+)\}/g, (_, word: string) => words[word] ?? '');
  return { name: row.name, likely: fillIn(row.likely), next: fillIn(row.next) };
};
