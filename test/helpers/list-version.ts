import type { ListVersion, SeriesVersion } from '../../src/banks/order.ts';

/** The version of a list that a store has taken. */
export const versionAt = (
  series: string,
  number: number,
  former: readonly SeriesVersion[] = [],
): ListVersion => ({ series, number, listId: `${series}${number}`, former });
