import { exceeds, type Measured } from './measure.ts';

/** One text at one place. */
export interface Result extends Measured {
  readonly place: string;
  readonly shape: string;
  readonly length: number;
}

export const findExcesses = (results: readonly Result[]): readonly Result[] =>
  results.filter(exceeds);

/** A row for each place: its worst text. With several lengths, the growth is the worst of any. */
export const toTable = (results: readonly Result[]): string => {
  const places = [...new Set(results.map(({ place }) => place))];
  const rows = places.map((place) => {
    const texts = results.filter((result) => result.place === place);
    const worst = texts.reduce((a, b) => (b.ratio > a.ratio ? b : a));
    const growths = texts.flatMap(({ growth }) => growth ?? []);
    return [
      place,
      `${worst.shape}, ${worst.length}`,
      worst.us.toFixed(1),
      worst.ratio.toFixed(2),
      growths.length > 0 ? Math.max(...growths).toFixed(2) : 'not measured',
    ];
  });
  const lines = [
    ['place', 'worst text, its length', 'CPU in µs', 'beside plain', 'growth'],
    ['---', '---', '--:', '--:', '--:'],
    ...rows,
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
};
