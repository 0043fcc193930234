// What a text costs beside a plain one of the same length. CPU time and not time: other programs
// use the machine too. The least of several rounds, since whatever disturbs a round makes it
// longer; and of a comparison that fails, more rounds.

/** One use of the text, again and again: the CPU time of each repetition, in microseconds. */
export type Cost = () => Promise<number> | number;

export interface Measured {
  /** CPU relative to a plain text of the same length. */
  readonly ratio: number;
  /** CPU relative to half the length; undefined where half of it is answered in another way. */
  readonly growth: number | undefined;
  /** Of one repetition, in microseconds. */
  readonly us: number;
}

export const LIMITS = { ratio: 3, growth: 2.5 } as const;

export interface Compared {
  readonly worst: Cost;
  readonly plain: Cost;
  readonly half: Cost | undefined;
}

const ROUNDS = 2;
const MOST_ROUNDS = 12;

/** Compares, and goes on while a limit is exceeded, up to {@link MOST_ROUNDS}. */
export const compare = async ({ worst, plain, half }: Compared): Promise<Measured> => {
  const least = { worst: Infinity, plain: Infinity, half: Infinity };
  const figures = (): Measured => ({
    ratio: least.worst / least.plain,
    growth: half && least.worst / least.half,
    us: least.worst,
  });
  for (let round = 0; round < ROUNDS || (round < MOST_ROUNDS && exceeds(figures())); round += 1) {
    least.worst = Math.min(least.worst, await worst());
    least.plain = Math.min(least.plain, await plain());
    if (half) least.half = Math.min(least.half, await half());
  }
  return figures();
};

export const exceeds = ({ ratio, growth }: Measured): boolean =>
  ratio > LIMITS.ratio || (growth ?? 0) > LIMITS.growth;

/** The CPU time of this process for each call of `use`, which is called for a few milliseconds. */
export const costHere = (use: () => unknown): Cost => {
  let calls = 1;
  return async () => {
    for (;;) {
      const before = process.cpuUsage();
      for (let call = 0; call < calls; call += 1) await use();
      const { user, system } = process.cpuUsage(before);
      if (user + system >= LEAST_US) return (user + system) / calls;
      calls *= 2;
    }
  };
};

const LEAST_US = 3_000;
