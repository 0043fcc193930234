import { compare, costHere, plainOf, type Cost } from './measure.ts';
import type { Result } from './report.ts';
import { NUMBERED, PLAIN, type Shape } from './shapes.ts';

// A place where text enters that is not a request: the functions that read it are called here, in
// this process.

export interface TextPlace {
  readonly name: string;
  /** Longest text, in characters. */
  readonly longest: number;
  /** What it is compared with: what usually is in that place. */
  readonly plain?: Shape;
  readonly shapes: readonly Shape[];
  /** Gives a function that reads `text`, which is called again and again. */
  readonly reader: (text: string) => () => unknown;
}

/**
 * What is refused costs an exception and often a line of the log, in microseconds, however long it
 * is: many times what reading a short text takes. None of these texts comes more often than once in
 * a load, a start or a rotation of a secret; so it matters only where the length adds to it. What a
 * client can send thousands of times, a request, has no such allowance.
 */
const LEAST_US = 100;

/** Of the longest text: a short one too, since some long texts are refused unread. */
const PARTS = [1 / 20, 1];

/** Compares every shape with the plain text. */
export const measureTextPlace = async (place: TextPlace): Promise<readonly Result[]> => {
  const { name, longest, plain: plainShape = PLAIN, shapes, reader } = place;
  const results: Result[] = [];
  for (const part of PARTS) {
    const length = Math.floor(longest * part);
    const costOf = (shape: Shape, chars: number): Cost => {
      let cost: Cost | undefined;
      return () => (cost ??= costHere(reader(shape.text(chars))))();
    };
    const plain = plainOf(atLeast(length, costOf(plainShape, length)));
    for (const shape of shapes) {
      const half = atLeast(length / 2, costOf(shape, length / 2));
      const measured = await compare({
        worst: costOf(shape, length),
        plain,
        half: part === 1 ? half : undefined,
        leastUs: LEAST_US,
      });
      results.push({ place: name, shape: shape.name, length, ...measured });
    }
  }
  process.stderr.write(`${name}\n`);
  return results;
};

/**
 * A text that is refused unread does not show the cost of reading, which is at least that of going
 * through `chars` characters one by one.
 */
const atLeast = (chars: number, cost: Cost): Cost => {
  const text = PLAIN.text(chars);
  const least = costHere(() => Array.from(text));
  return async () => Math.max(await least(), await cost());
};

/** A JSON list of `entry`, as often as fits. */
export const listOf = (entry: (index: number) => string, name: string): Shape => ({
  name,
  text: (length) =>
    `[${NUMBERED((index) => `${entry(index)},`, name)
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
    NUMBERED((index) => `${member(index)},`, name)
      .text(length - start.length - end.length)
      .slice(0, -1) +
    end,
});

/** Calls `read`, whatever it throws. */
export const quietly = (read: (text: string) => unknown) => (text: string) => (): unknown => {
  try {
    return read(text);
  } catch {
    return undefined;
  }
};

/** The same for what rejects. */
export const quietlyLater =
  (read: (text: string) => Promise<unknown>) => (text: string) => (): Promise<unknown> =>
    read(text).catch(() => undefined);
