// Shares of a list: compared exactly, and written for people. Pure.

/**
 * Shares are compared in millionths, so that 29 of 100 is exactly 29 %, which `0.29 * 100` is not.
 */
const PARTS = 1_000_000;

/**
 * Whether `part` is more than `share` (0 to 1, to a millionth) of `whole`. Both are whole numbers
 * below 2^53 / 10^6, which is more than a product of two lists' lengths.
 */
export const isMoreThanShare = (part: number, whole: number, share: number): boolean =>
  part * PARTS > Math.round(share * PARTS) * whole;

/**
 * `part` of `whole`, which is not 0, for people: a whole percentage, or one with a decimal where it
 * would mislead.
 */
export const percent = (part: number, whole: number): string => {
  const exact = (100 * part) / whole;
  const rounded = Math.round(exact);
  return `${Math.abs(exact - rounded) < 0.05 ? rounded : exact.toFixed(1)} %`;
};
