// Numbers that JavaScript would alter without a word: JSON.parse gives no source text before Node 21, so it is looked at
// before parsing.

/** Any decimal number of 15 significant digits survives a double, if it has no exponent (IEEE 754, binary64). */
const LONG_NUMBER = /\d(?:\.?\d){15}|\d[eE]/;

/** Whether a number in JSON text may be one that a double cannot hold; texts of many digits are suspected too. */
export const mayHaveLongNumber = (json: string): boolean => LONG_NUMBER.test(json);

/** A string, which is left as it is, or a number without its sign. In valid JSON every string ends: nothing backtracks. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|\d[\d.eE+-]*/g;

/**
 * Replaces each number of valid JSON text that a double cannot hold by an infinite one: `1e999`. A number is held if
 * what JSON.stringify would write has the same decimal value: `0.1` and `1.50` are, `4503599627370497.75` is not.
 */
export const markAlteredNumbers = (json: string): string =>
  json.replaceAll(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || decimalValue(token) === decimalValue(String(Number(token))) ? token : '1e999',
  );

/** One text for each decimal value without a sign: its significant digits and the exponent of the last one. */
const decimalValue = (number: string): string => {
  const [, integer = '', fraction = '', exponent] = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? [];
  const digits = integer + fraction;
  let start = 0;
  while (digits[start] === '0') start += 1;
  if (start === digits.length) return '0';
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return `${digits.slice(start, end)}e${Number(exponent ?? 0) - fraction.length + digits.length - end}`;
};
