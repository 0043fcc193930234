import { createRandom } from '../../test/helpers/random.ts';

// Simulated time, and the one ordered list of everything that is pending: a timer, a message on its
// way, a write to disk, a client's call. Nothing happens but by `step`, which takes the next entry
// and lets the code react until it waits again. Entries that are due at the same moment happen in
// an order that the seed decides.

/**
 * Whoever an entry happens to. What is pending for one that was killed never happens; one that
 * sleeps gets it afterwards.
 */
export interface Owner {
  readonly name: string;
  isAlive: boolean;
  asleepUntilMs: number;
}

export const newOwner = (name: string): Owner => ({ name, isAlive: true, asleepUntilMs: 0 });

interface Entry {
  dueMs: number;
  readonly order: number;
  readonly owner: Owner;
  readonly what: string;
  run: (() => void) | undefined;
}

export type World = ReturnType<typeof createWorld>;

/** True time is counted from 0; calendars show this then. */
const START_MS = Date.UTC(2026, 5, 1);

export const createWorld = (seed: number, onStep: (what: string, owner: Owner) => void) => {
  let nowMs = 0;
  const streams = new Map<string, () => number>();
  /** The entry that is due first is the last. */
  const pending: Entry[] = [];
  const add = (entry: Entry): void => {
    const isLater = ({ dueMs, order }: Entry): boolean =>
      dueMs > entry.dueMs || (dueMs === entry.dueMs && order > entry.order);
    pending.splice(pending.findLastIndex(isLater) + 1, 0, entry);
  };
  /**
   * A number in [0, 1) from a stream of its own: what happens to one thing does not change
   * another's luck.
   */
  const luck = (stream: string): number => {
    let random = streams.get(stream);
    if (!random) streams.set(stream, (random = createRandom(mix(seed, stream))));
    return random();
  };
  return {
    luck,
    nowMs: () => nowMs,
    dateMs: () => START_MS + nowMs,
    /** @returns a function that cancels it */
    later: (delayMs: number, owner: Owner, what: string, run: () => void): (() => void) => {
      const entry: Entry = {
        dueMs: Math.ceil(nowMs + Math.max(0, delayMs)),
        order: luck('order'),
        owner,
        what,
        run,
      };
      add(entry);
      return () => void (entry.run = undefined);
    },
    /**
     * The next entry happens, unless it is due after `untilMs`. @returns its owner; undefined where
     * there is none
     */
    step: async (untilMs: number): Promise<Owner | undefined> => {
      for (;;) {
        const next = pending.at(-1);
        if (!next || next.dueMs > untilMs) {
          nowMs = Math.max(nowMs, untilMs);
          return undefined;
        }
        pending.pop();
        const { run, owner } = next;
        if (!run || !owner.isAlive) continue;
        if (owner.asleepUntilMs > next.dueMs) {
          next.dueMs = owner.asleepUntilMs;
          add(next);
          continue;
        }
        nowMs = Math.max(nowMs, next.dueMs);
        onStep(next.what, owner);
        run();
        // oxlint-disable-next-line no-await-in-loop -- one entry is taken
        await settled();
        return owner;
      }
    },
  };
};

/** Node handles all promises and ticks between two callbacks of `setImmediate`. */
const AHEAD = 64;
let ahead = 0;
let resume: (() => void) | undefined;
const onTurn = (): void => {
  ahead -= 1;
  const resolve = resume;
  resume = undefined;
  resolve?.();
};
/**
 * Resolves when everything has been done that waits for nothing. Many turns are asked for at once:
 * between two that are, Node does not look for input and output, of which there is none here.
 */
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    resume = resolve;
    if (ahead > 0) return;
    for (ahead = 0; ahead < AHEAD; ahead += 1) setImmediate(onTurn);
  });

/** FNV-1a. */
const mix = (start: number, text: string): number => {
  let hash = start | 0;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
};
