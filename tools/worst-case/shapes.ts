// Texts of a given length that programs find hard to read: each has broken some parser, or is the
// least change of one.

export interface Shape {
  readonly name: string;
  /** `length` characters; a few fewer where the shape has an end of its own. */
  readonly text: (length: number) => string;
}

/** Repeats `unit`, and ends with `end`. */
export const repeat = (unit: string, end = ''): Shape => ({
  name: end === '' ? `${show(unit)} repeated` : `${show(unit)} repeated, then ${show(end)}`,
  text: (length) => unit.repeat(Math.max(0, Math.floor((length - end.length) / unit.length))) + end,
});

/** `start`, then `unit` as often as fits, then `end`. */
const around = (start: string, unit: string, end: string): Shape => ({
  name: `${show(start)}, ${show(unit)} repeated, ${show(end)}`,
  text: (length) => start + repeat(unit, end).text(length - start.length),
});

/** `shape` behind `start`. */
export const startingWith = (start: string, { name, text }: Shape): Shape => ({
  name: `${show(start)}, ${name}`,
  text: (length) => start + text(Math.max(0, length - start.length)),
});

const show = (text: string): string => (text.trim() === text ? text : JSON.stringify(text));

/** Has no special characters. */
export const PLAIN: Shape = { ...repeat('a'), name: 'plain' };

/** Items that differ by their index, as many as fit. */
export const numbered = (item: (index: number) => string, name: string): Shape => ({
  name,
  text: (length) => {
    const items: string[] = [];
    for (let left = length, index = 0; left > 0; index += 1) {
      const next = item(index);
      left -= next.length;
      if (left >= 0) items.push(next);
    }
    return items.join('');
  },
});

/** Lists in lists. */
export const NESTED: Shape = {
  name: 'nested',
  text: (length) => '['.repeat(length / 2) + ']'.repeat(length / 2),
};

const BYTES = [
  ',',
  ';',
  ':',
  '"',
  '\\',
  '/',
  '.',
  '%',
  '=',
  '&',
  '[',
  '{',
  '(',
  '@',
  '*',
  '-',
  '0',
  '\x80',
];

/** Two bytes in turn, and short elements. */
const ELEMENTS: readonly string[] = [
  ['ab', 'a,', ', ', 'a;', 'a=', 'a=b;', 'a=b&', 'a.', 'a/', '../', 'a:', 'a@', '%41', '%C3%A9'],
  ['"a",', 'W/"a",', '"",', '[],', '{},', 'xn--a.'],
  ['::1,', '127.0.0.1, ', 'gzip;q=0.5,', 'br,', '*,', 'a;q=1,'],
].flat();

/** What may stand in a header's value, a path or a query as well as in a file. */
export const SHAPES: readonly Shape[] = [
  PLAIN,
  ...[...BYTES, ...ELEMENTS].map((unit) => repeat(unit)),
  // Near matches: a pattern tries every way to read what cannot be read at the end.
  around(',', ' ', 'x'),
  around('"a",', ' ', 'x'),
  around('a', '\t', 'x'),
  around('"', 'a', ''),
  around('"', '\\"', ''),
  around('bearer', ' ', ''),
  around('bearer ', 'a', ' x'),
  around('Sun, ', '0', ' GMT'),
  around('00-', '0', '-00'),
  around('[', ':', ']'),
  around('a:', '1', 'x'),
  // Two marks of one letter, in the order that a parser of host names has to change.
  around('a', '%CC%81%CC%A3', ''),
  around('http://a', '%CC%81%CC%A3', ''),
  numbered((index) => `"${index}",`, 'different tags'),
  numbered((index) => `a${index}=${index}&`, 'different names'),
];
