/** A share (0 to 1) for people: a whole percentage, or one with a decimal where it would mislead. */
export const percent = (share: number): string => {
  const exact = 100 * share;
  const rounded = Math.round(exact);
  return `${Math.abs(exact - rounded) < 0.05 ? rounded : exact.toFixed(1)} %`;
};
