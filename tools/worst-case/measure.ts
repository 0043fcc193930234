import { median } from './processes.ts';

// What a text costs in comparison with a plain one of the same length. CPU time and not time: other programs
// use the machine too. The median of several rounds: whatever disturbs a round makes it longer, and
// what the system has not counted yet makes one shorter. Of a comparison that fails, more rounds.

/** One use of the text, again and again: the CPU time of each repetition, in microseconds. */
export type Cost = () => Promise<number> | number;

export interface Measured {
  /** CPU relative to a plain text of the same length. */
  readonly ratio: number;
  /**
   * CPU relative to half the length; undefined where half of it is answered in another way, and
   * where the whole costs about what a plain text costs.
   */
  readonly growth: number | undefined;
  /** Of one repetition, in microseconds. */
  readonly us: number;
  /** A text that costs less in all is within every limit, in microseconds. */
  readonly negligibleUs: number;
}

export const LIMITS = { ratio: 3, growth: 2.5 } as const;

export interface Compared {
  readonly worst: Cost;
  readonly plain: Plain;
  readonly half: Cost | undefined;
  readonly negligibleUs?: number;
}

/** A plain text, with which all shapes of its length are compared. */
export interface Plain {
  readonly cost: Cost;
  /** Undefined until it has been measured. */
  us: number | undefined;
}

export const plainOf = (cost: Cost): Plain => ({ cost, us: undefined });

const ROUNDS = 3;
/** Where a limit is near, and where one is exceeded. */
const MORE_ROUNDS = 7;
const MOST_ROUNDS = 21;
const NEAR_LIMIT = 0.7;
/** Twice a plain text of half the length is 2: what costs as much in all does not grow faster. */
const NEAR_PLAIN = 1.25;

/**
 * Measures a text once, and returns if it costs about what a plain one costs
 * ({@link NEAR_PLAIN}). Otherwise it takes the median of several rounds, and of more near a limit
 * and while one is exceeded.
 */
export const compare = async ({
  worst,
  plain,
  half,
  negligibleUs = 0,
}: Compared): Promise<Measured> => {
  plain.us ??= median([await plain.cost(), await plain.cost(), await plain.cost()]);
  const us = await worst();
  if (us / plain.us < NEAR_PLAIN)
    return { ratio: us / plain.us, growth: undefined, us, negligibleUs };

  // In turns: what they cost depends on what else the machine does.
  const costs = { worst: [us], plain: [plain.us], half: [] as number[] };
  const figures = (): Measured => {
    const worstUs = median(costs.worst);
    return {
      ratio: worstUs / median(costs.plain),
      growth: half && worstUs / median(costs.half),
      us: worstUs,
      negligibleUs,
    };
  };
  const rounds = (): number => {
    const measured = figures();
    if (exceeds(measured)) return MOST_ROUNDS;
    const { ratio, growth = 0 } = measured;
    const share = Math.max(ratio / LIMITS.ratio, growth / LIMITS.growth);
    return share > NEAR_LIMIT ? MORE_ROUNDS : ROUNDS;
  };
  for (let round = 0; round < ROUNDS || round < rounds(); round += 1) {
    costs.plain.push(await plain.cost());
    costs.worst.push(await worst());
    if (half) costs.half.push(await half());
  }
  return figures();
};

export const exceeds = ({ ratio, growth = 0, us, negligibleUs }: Measured): boolean =>
  us >= negligibleUs && (ratio > LIMITS.ratio || growth > LIMITS.growth);

/** The CPU time of this process for each call of `use`, which is called for a few milliseconds. */
export const costHere = (use: () => unknown): Cost => {
  let calls = 1;
  return async () => {
    for (;;) {
      const before = process.cpuUsage();
      for (let call = 0; call < calls; call += 1) await use();
      const { user, system } = process.cpuUsage(before);
      if (user + system >= MIN_MEASURED_US) return (user + system) / calls;
      calls *= 2;
    }
  };
};

/** Below, the system's count of the CPU time is too coarse. */
const MIN_MEASURED_US = 1_000;
