import { OVERRIDABLE, type Overridable } from '../../src/banks/guard/guard.ts';

// The provider's list of banks as it changes: few entries, so that a simulated day costs little;
// and what the documentation says of replacing one list by another.

export interface Shape {
  readonly size: number;
  /** How often the first bank was renamed. */
  readonly renames: number;
  /** How many entries have no name. */
  readonly nameless: number;
  /** How many entries have a number as their code instead of a text. */
  readonly numeric: number;
}

export const USUAL: Shape = { size: 20, renames: 0, nameless: 0, numeric: 0 };

/** Of what there can be: no more than all entries are without a name. */
export const toShape = ({ size, renames, nameless, numeric }: Shape): Shape => ({
  size,
  renames,
  nameless: Math.min(size, nameless),
  numeric: Math.min(size, numeric),
});

/** A list that the provider has sent completely, and that was usable. */
export interface BankList {
  readonly shape: Shape;
  /** As it is published. */
  readonly json: string;
  /** When the latest call was made that had been answered with it, after each answer. */
  readonly askedAtMs: number[];
  /** When the answers had arrived. */
  readonly deliveredAtMs: number[];
}

/** The `BANK_FIELDS` of the simulated fleets. Replicas with different ones share nothing. */
export const FIELDS = ['code,ispb,name', 'code,name'] as const;
export type Fields = (typeof FIELDS)[number];

/**
 * @param serial tells an answer from every other one, where lists are to differ; see {@link
 *   serialIn}
 */
export const toEntries = ({ size, renames, nameless, numeric }: Shape, serial: number) =>
  Array.from({ length: size }, (_, index) => {
    const [text, number] =
      index === 0 ? [`1.${serial}`, 1e7 + serial] : [String(index + 1).padStart(3, '0'), index + 1];
    return {
      code: index < numeric ? number : text,
      ispb: String(10_000_000 + index),
      ...(index < size - nameless && { name: index === 0 ? `BCO ${renames}` : `BCO ${index}` }),
      kind: { of: ['bank'], since: 1_900 + index },
    };
  });

/** The serial number of a published list, wherever it is quoted. */
export const serialIn = (text: string): number => Number(/"code":"?1[.0]0*(\d+)/.exec(text)?.[1]);

/** The JSON that a replica with these fields publishes. */
export const toPublished = (entries: ReturnType<typeof toEntries>, fields: Fields): string =>
  JSON.stringify(
    entries.map(({ code, ispb, name = null }) =>
      fields === 'code,name' ? { code, name } : { code, ispb, name },
    ),
  );

/** GUARD_MAX_SHRINK and GUARD_MAX_DRIFT are left at their default, 20 %. */
const MAX_LOSS = 0.2;
/** Counts of single entries round either way. */
const ROUNDING = 0.05;

const losses = (before: Shape, after: Shape) => {
  const rise = (part: 'nameless' | 'numeric'): number =>
    after[part] / after.size - before[part] / before.size;
  return {
    shrunk: [1 - after.size / before.size],
    drifted: [rise('nameless'), Math.abs(rise('numeric'))],
  };
};

/**
 * `after` has clearly lost more than the guard lets pass, for another reason than those that an
 * operator accepts.
 */
export const mustBeRefused = (
  before: Shape,
  after: Shape,
  accepted: readonly Overridable[] = [],
): boolean => {
  const found = losses(before, after);
  return OVERRIDABLE.some(
    (reason) =>
      !accepted.includes(reason) && found[reason].some((loss) => loss > MAX_LOSS + ROUNDING),
  );
};

/** A guard that refuses `after` has a reason: it can count a loss in one more way than one. */
export const mayBeRefused = (before: Shape, after: Shape): boolean => {
  const { shrunk, drifted } = losses(before, after);
  const sums = [shrunk, drifted].map((shares) =>
    shares.reduce((sum, share) => sum + Math.max(0, share), 0),
  );
  return sums.some((lost) => lost > MAX_LOSS - ROUNDING) || after.nameless === after.size;
};
