// A table of symptoms, each with the likely cause and what to do next. A symptom is a code of Node,
// Redis or RFC 6749 (section 5.2), a fault of connection-faults.ts, or a name given here. The row
// for "anything else" stands for all that no other row has.

/** `Words`: what stands in the texts. */
export interface Symptom<Words> {
  readonly symptoms: readonly string[];
  readonly likely: Text<Words>;
  readonly next: Text<Words>;
}

export type Symptoms<Words> = readonly Symptom<Words>[];

type Text<Words> = string | ((words: Words) => string);

/** The row for `symptom`, or the one for anything else; undefined if there is none. */
export const findSymptom = <Row extends Symptom<never>>(rows: readonly Row[], symptom: string) => {
  const rowFor = (wanted: string) => rows.find(({ symptoms }) => symptoms.includes(wanted));
  return rowFor(symptom) ?? rowFor('anything else');
};

/** Its texts with `words` in their places. */
export const toAdvice = <Words>({ likely, next }: Symptom<Words>, words: Words) => {
  const complete = (text: Text<Words>): string => (typeof text === 'string' ? text : text(words));
  return { likely: complete(likely), next: complete(next) };
};
