import { exceeds, type Measured } from './measure.ts';

/** One text at one place. */
export interface Result extends Measured {
  readonly place: string;
  readonly shape: string;
  readonly length: number;
}

export const findExcesses = (results: readonly Result[]): readonly Result[] =>
  results.filter(exceeds);

/** Of each place, the text with the highest ratio, and the one with the highest growth. */
export const worstOfEach = (results: readonly Result[]): readonly Result[] =>
  [...new Set(results.map(({ place }) => place))].flatMap((place) => {
    const texts = results.filter((result) => result.place === place);
    const highest = (figure: (result: Result) => number): Result =>
      texts.reduce((a, b) => (figure(b) > figure(a) ? b : a));
    const [costly, growing] = [
      highest(({ ratio }) => ratio),
      highest(({ growth = -Infinity }) => growth),
    ];
    return growing.growth === undefined ? [costly] : [...new Set([costly, growing])];
  });

/** A row for each. */
export const toTable = (results: readonly Result[]): string => {
  const rows = results.map(({ place, shape, length, us, ratio, growth }) => [
    place,
    `${shape}, ${length}`,
    us.toFixed(1),
    ratio.toFixed(2),
    growth?.toFixed(2) ?? 'not measured',
  ]);
  const lines = [
    ['place', 'worst text, its length', 'CPU in µs', 'ratio to plain', 'growth'],
    ['---', '---', '--:', '--:', '--:'],
    ...rows,
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
};
