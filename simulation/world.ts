import { setImmediate } from 'node:timers/promises';
import { createRandom } from '../test/kit/random.ts';

// Simulated time, and the one list of everything that is pending: a timer, an answer on its way, a write to disk, a call of
// a client. Nothing happens but by `step`, which takes the next entry and lets the code react to it until it waits again.
// Entries that are due together happen in an order that the seed decides.

/** Whoever an entry happens to. What is pending for one that has been killed never happens. */
export interface Owner {
  readonly name: string;
  isAlive: boolean;
}

export interface World {
  nowMs(): number;
  /** @returns a function that cancels it */
  later(delayMs: number, owner: Owner, what: string, run: () => void): () => void;
  /** A number in [0, 1) from a stream of its own: what happens to one thing does not change the luck of another. */
  luck(stream: string): number;
  /** The next entry happens, unless it is after `untilMs`. @returns its owner; undefined when there is none */
  step(untilMs: number): Promise<Owner | undefined>;
  /** Called with every entry that happens. */
  onStep(listener: (what: string, owner: Owner) => void): void;
  /** What is happening now. */
  happening(): string;
  /** Equal for equal runs. */
  hash(): number;
  steps(): number;
}

interface Entry {
  readonly dueMs: number;
  readonly order: number;
  readonly owner: Owner;
  readonly what: string;
  run: (() => void) | undefined;
}

export const createWorld = (seed: number): World => {
  let nowMs = 0;
  let steps = 0;
  let trace = seed;
  let happening = '';
  const streams = new Map<string, () => number>();
  const listeners: ((what: string, owner: Owner) => void)[] = [];
  const pending = createHeap();
  const luck = (stream: string): number => {
    let random = streams.get(stream);
    if (!random) streams.set(stream, (random = createRandom(mix(seed, stream))));
    return random();
  };
  return {
    nowMs: () => nowMs,
    later: (delayMs, owner, what, run) => {
      const entry: Entry = { dueMs: nowMs + Math.max(0, delayMs), order: luck('order'), owner, what, run };
      pending.add(entry);
      return () => (entry.run = undefined);
    },
    luck,
    step: async (untilMs) => {
      for (;;) {
        const next = pending.first();
        if (!next || next.dueMs > untilMs) {
          nowMs = Math.max(nowMs, untilMs);
          return undefined;
        }
        pending.removeFirst();
        const { run, owner, what } = next;
        if (!run || !owner.isAlive) continue;
        nowMs = Math.max(nowMs, next.dueMs);
        steps += 1;
        trace = mix(trace + nowMs, what);
        happening = what;
        run();
        for (const listener of listeners) listener(what, owner);
        // oxlint-disable-next-line no-await-in-loop -- all that the code does without waiting happens here
        await setImmediate();
        return owner;
      }
    },
    onStep: (listener) => void listeners.push(listener),
    happening: () => happening,
    hash: () => trace,
    steps: () => steps,
  };
};

/** FNV-1a. */
const mix = (start: number, text: string): number => {
  let hash = start | 0;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
};

/** A binary heap, the entry that is due first on top. */
const createHeap = () => {
  const heap: Entry[] = [];
  const isBefore = (a: number, b: number): boolean => {
    const [one, other] = [heap[a] as Entry, heap[b] as Entry];
    return one.dueMs === other.dueMs ? one.order < other.order : one.dueMs < other.dueMs;
  };
  const swap = (a: number, b: number): void => {
    [heap[a], heap[b]] = [heap[b] as Entry, heap[a] as Entry];
  };
  return {
    first: () => heap[0],
    add: (entry: Entry): void => {
      let at = heap.push(entry) - 1;
      for (let parent = (at - 1) >> 1; at > 0 && isBefore(at, parent); parent = (at - 1) >> 1) {
        swap(at, parent);
        at = parent;
      }
    },
    removeFirst: (): void => {
      const last = heap.pop();
      if (!last || heap.length === 0) return;
      heap[0] = last;
      for (let at = 0; ;) {
        const [left, right] = [2 * at + 1, 2 * at + 2];
        if (left >= heap.length) break;
        const least = right < heap.length && isBefore(right, left) ? right : left;
        if (!isBefore(least, at)) break;
        swap(least, at);
        at = least;
      }
    },
  };
};
