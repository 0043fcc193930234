// Made-up lists of banks.

/** This many different banks with the fields that the rig publishes. */
export const makeBanks = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({
    code: String(index),
    ispb: String(10_000_000 + index),
    name: `Banco ${index}`,
  }));
