import type { StoreVersion, SeriesVersion } from '../../src/banks/order.ts';

/** The version of a list that a store has taken. */
export const versionAt = (
  series: string,
  number: number,
  former: readonly SeriesVersion[] = [],
): StoreVersion => ({ series, number, listId: `${series}${number}`, former });
