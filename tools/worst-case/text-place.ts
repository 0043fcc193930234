import { compare, costHere, plainOf, type Cost } from './measure.ts';
import type { Result } from './report.ts';
import { numbered, PLAIN, type Shape } from './shapes.ts';

// A place where text enters that is not a request: the functions that read it are called here, in
// this process.

export interface TextPlace {
  readonly name: string;
  /** Longest text, in characters. */
  readonly longest: number;
  /** What it is compared with: what usually is in that place. */
  readonly plain?: Shape;
  readonly shapes: readonly Shape[];
  /** Clients can send it thousands of times: nothing that it costs is negligible. */
  readonly isOfClients?: boolean;
  /** Gives a function that reads `text`, which is called again and again. */
  readonly reader: (text: string) => () => unknown;
}

/**
 * What is refused costs an exception and often a line of the log, in microseconds, however long it
 * is: many times what reading a short text takes. A text that comes once in a load, a start or a
 * rotation of a secret may cost so much; it matters only where the length adds to it.
 */
const NEGLIGIBLE_US = 100;

/** Of the longest text: a short one too, since some long texts are refused unread. */
const PARTS = [1 / 20, 1];

/** Compares every shape with the plain text. */
export const measureTextPlace = async (place: TextPlace): Promise<readonly Result[]> => {
  const { name, longest, plain: plainShape = PLAIN, shapes, isOfClients, reader } = place;
  const results: Result[] = [];
  for (const part of PARTS) {
    const length = Math.floor(longest * part);
    const costOf = (shape: Shape, chars: number): Cost => {
      let cost: Cost | undefined;
      return () => (cost ??= costHere(reader(shape.text(chars))))();
    };
    const plain = plainOf(withReadingCost(length, costOf(plainShape, length)));
    for (const shape of shapes) {
      // Some consist of a start and an end, or of items, that are longer than that.
      if (!hasLength(shape, length)) continue;
      const half = withReadingCost(length / 2, costOf(shape, length / 2));
      const measured = await compare({
        worst: costOf(shape, length),
        plain,
        half: part === 1 && hasLength(shape, length / 2) ? half : undefined,
        negligibleUs: isOfClients ? 0 : NEGLIGIBLE_US,
      });
      results.push({ place: name, shape: shape.name, length, ...measured });
    }
  }
  process.stderr.write(`${name}\n`);
  return results;
};

/** Whether its text has about this length. */
const hasLength = ({ text }: Shape, length: number): boolean => {
  const chars = text(length).length;
  return chars > length / 2 && chars <= length;
};

/**
 * A text that is refused unread does not show the cost of reading, which is at least that of going
 * through `chars` characters one by one.
 */
const withReadingCost = (chars: number, cost: Cost): Cost => {
  const text = PLAIN.text(chars);
  const least = costHere(() => Array.from(text));
  return async () => Math.max(await least(), await cost());
};

/** A JSON list of `entry`, as often as fits. */
export const listOf = (entry: (index: number) => string, name: string): Shape => ({
  name,
  text: (length) =>
    `[${numbered((index) => `${entry(index)},`, name)
      .text(length - 2)
      .slice(0, -1)}]`,
});

/** A JSON object of `member`, as often as fits, between `start` and `end`. */
export const objectOf = (
  member: (index: number) => string,
  name: string,
  [start, end] = ['{', '}'],
): Shape => ({
  name,
  text: (length) =>
    start +
    numbered((index) => `${member(index)},`, name)
      .text(length - start.length - end.length)
      .slice(0, -1) +
    end,
});

/** Gives a function that calls `read` with a text, and returns undefined if it throws. */
export const ignoringErrors =
  (read: (text: string) => unknown) => (text: string) => (): unknown => {
    try {
      return read(text);
    } catch {
      return undefined;
    }
  };

/** The same for what rejects. */
export const ignoringRejections =
  (read: (text: string) => Promise<unknown>) => (text: string) => (): Promise<unknown> =>
    read(text).catch(() => undefined);
