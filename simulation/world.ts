import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { LoadErrorKind } from '../src/banks/load-error.ts';
import type { ServiceEvent } from '../src/telemetry/events.ts';
import { createRandom } from '../test/kit/random.ts';
import type { Call, Delivery } from './provider.ts';
import type { Life } from './replica.ts';

// Simulated time, and the one list of everything that is pending: a timer, an answer on its way, a write to disk, a call of
// a client. Nothing happens but by `step`, which takes the next entry and lets the code react to it until it waits again.
// Entries that are due together happen in an order that the seed decides.

/** Whoever an entry happens to. What is pending for one that has been killed never happens. */
export interface Owner {
  readonly name: string;
  isAlive: boolean;
}

/** To whom what is planned happens, and whatever else comes from outside. */
export const DIRECTOR: Owner = { name: 'director', isAlive: true };

/** What is told as it happens: first that something will, then what it was, and every event of a service. */
export type News = {
  step: [what: string, owner: Owner];
  call: [life: Life, call: Call];
  'token call': [life: Life, call: Call];
  /** A list has reached a replica. */
  delivery: [life: Life, delivery: Delivery];
  /** Its load may fail with one of these kinds. */
  excuse: [life: Life, kinds: readonly LoadErrorKind[], from: 'call' | 'token'];
  unauthorized: [life: Life];
  'Retry-After': [life: Life, ms: number, from: 'call' | 'token'];
  timer: [life: Life];
  running: [life: Life];
  disk: [life: Life];
  /** It has read or written, or could not. */
  'disk done': [life: Life, result: 'read' | 'written' | 'failed'];
  /** Was given to a connection to Redis. */
  command: [life: Life, command: string];
  /** `name`: what its owner calls itself there. */
  lease: [life: Life, isGranted: boolean, lifeMs: number, name: string];
  'lease returned': [life: Life];
  /** Redis has another list; `writer`: undefined if it is no replica. */
  'list written': [bytes: Buffer, writer: Life | undefined];
  told: [life: Life, type: ServiceEvent['type']];
} & { [E in ServiceEvent as E['type']]: [life: Life, event: E] };

export type World = ReturnType<typeof createWorld>;

/** Wall clocks show this at the beginning. */
const WALL_START_MS = Date.UTC(2026, 5, 1);

interface Entry {
  readonly dueMs: number;
  readonly order: number;
  readonly owner: Owner;
  readonly what: string;
  run: (() => void) | undefined;
}

export const createWorld = (seed: number) => {
  let nowMs = 0;
  let happening = '';
  const streams = new Map<string, () => number>();
  const news = new EventEmitter<News>();
  /** The entry that is due first is the last. */
  const pending: Entry[] = [];
  const add = (entry: Entry): void => {
    const isLater = ({ dueMs, order }: Entry): boolean =>
      dueMs > entry.dueMs || (dueMs === entry.dueMs && order > entry.order);
    pending.splice(pending.findLastIndex(isLater) + 1, 0, entry);
  };
  /** A number in [0, 1) from a stream of its own: what happens to one thing does not change the luck of another. */
  const luck = (stream: string): number => {
    let random = streams.get(stream);
    if (!random) streams.set(stream, (random = createRandom(mix(seed, stream))));
    return random();
  };
  return {
    news,
    nowMs: () => nowMs,
    wallMs: () => WALL_START_MS + nowMs,
    /** @returns a function that cancels it */
    later: (delayMs: number, owner: Owner, what: string, run: () => void): (() => void) => {
      const entry: Entry = { dueMs: nowMs + Math.max(0, delayMs), order: luck('order'), owner, what, run };
      add(entry);
      return () => void (entry.run = undefined);
    },
    luck,
    /** The next entry happens, unless it is after `untilMs`. @returns its owner; undefined when there is none */
    step: async (untilMs: number): Promise<Owner | undefined> => {
      for (;;) {
        const next = pending.at(-1);
        if (!next || next.dueMs > untilMs) {
          nowMs = Math.max(nowMs, untilMs);
          return undefined;
        }
        pending.pop();
        const { run, owner, what } = next;
        if (!run || !owner.isAlive) continue;
        nowMs = Math.max(nowMs, next.dueMs);
        happening = what;
        news.emit('step', what, owner);
        run();
        // oxlint-disable-next-line no-await-in-loop -- all that the code does without waiting happens here
        await setImmediate();
        return owner;
      }
    },
    /** What is happening now. */
    happening: () => happening,
  };
};

/** FNV-1a. */
const mix = (start: number, text: string): number => {
  let hash = start | 0;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
};
