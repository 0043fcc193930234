/** `1 entry`, `2 entries`: a count as a person reads it. */
export const formatCount = (count: number, singular: string, plural: string): string =>
  `${count} ${count === 1 ? singular : plural}`;
