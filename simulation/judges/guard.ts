import type { HeldList } from '../../src/banks/cached-list.ts';
import type { LoadError } from '../../src/banks/load-error.ts';
import type { Shape } from '../bank-versions.ts';
import type { Life } from '../replica.ts';
import { SECOND, type Court } from './facts.ts';

// Judges what the guard lets through and what it refuses, beside all that a replica has held.

/** A list that a replica held. */
interface Remembered {
  readonly text: string;
  readonly untilMs: number;
}

const WEEK_MS = 7 * 86_400 * SECOND;
/** So many lists are at hand, whatever came between. */
const RECENT_LISTS = 10;

export const createGuardJudge = (court: Court) => {
  const { nowMs: now, factsOf, textOf, setup } = court;
  const expectGuarded = court.expectOf('the guard and the operator');
  const expectReturn = court.expectOf('the list of before comes back');
  /** What each life held before, since an operator accepted a list or an earlier one came back. */
  const memories = new WeakMap<Life, readonly Remembered[]>();
  /** Whatever any replica has held: its memory may have come with a list. */
  const heldTexts = new Set<string>();
  const memoryOf = (life: Life): readonly Remembered[] => {
    // For certain, whatever the clocks did.
    const windowMs = Math.min(WEEK_MS, setup.maxStaleMs) - 2 * court.wallSpreadMs;
    return (memories.get(life) ?? []).filter(({ untilMs }) => now() - untilMs < windowMs);
  };
  const sizeOf = (text: string): number => shapeOf(text)?.size ?? 0;

  const isShrunk = (before: string, text: string): boolean => sizeOf(text) < sizeOf(before) * 0.8;
  const shapeOf = (text: string): Shape | undefined => court.provider().versions.byPublished(text)?.shape;
  const hasDrifted = (before: string, text: string): boolean => {
    const [old, next] = [shapeOf(before), shapeOf(text)];
    if (!old || !next || next.drift === old.drift) return false;
    // A published name that was never filled may be filled again; the other one is gone where all are published.
    return old.drift !== 'name renamed' || setup.fields === 'all';
  };

  return {
    /** `list` is about to replace what `life` holds. */
    onTaken: (life: Life, list: HeldList): void => {
      const { held } = factsOf(life);
      const text = textOf(list);
      // A replica that holds a list for the first time may know it from another one, or from its own last life.
      const mayKnow = (setup.hasRedis || setup.hasSnapshot) && heldTexts.has(text);
      heldTexts.add(text);
      if (!held) return;
      const cached = { text: textOf(held), untilMs: now() };
      const memory = memoryOf(life);
      // The last one is known however long ago that was.
      const returnsTo = (memories.get(life) ?? []).findLastIndex((one) => one.text === text);
      if ((list.acceptedAtMs ?? 0) > (held.acceptedAtMs ?? 0)) memories.delete(life);
      else if (text === cached.text) return;
      else if (returnsTo !== -1) memories.set(life, memory.slice(0, returnsTo));
      else if (mayKnow) memories.set(life, []);
      else {
        expectGuarded(!hasDrifted(cached.text, text), 'fields changed');
        for (const one of [cached, ...memory])
          expectGuarded(!isShrunk(one.text, text), () => `${sizeOf(text)} entries after ${sizeOf(one.text)}`);
        memories.set(life, [...memory, cached]);
      }
    },
    onFailed: (life: Life, error: LoadError): void => {
      const { delivery, held } = factsOf(life);
      if ((error.kind !== 'shrunk' && error.kind !== 'drifted') || !delivery || !held) return;
      const { published } = delivery.version;
      const memory = memoryOf(life);
      expectReturn(!memory.slice(-RECENT_LISTS).some(({ text }) => text === published), 'it is refused');
      // With a store its memory may have come with a list.
      if (error.kind !== 'shrunk' || setup.hasRedis || setup.hasSnapshot) return;
      const largest = Math.max(
        sizeOf(textOf(held)),
        ...(memories.get(life) ?? []).map(({ text }) => sizeOf(text)),
      );
      expectReturn(
        sizeOf(published) < largest * 0.8,
        () => `${sizeOf(published)} entries are refused after ${largest}`,
      );
    },
    /** Whether a replica may refuse `text` from another one. */
    mayRefuse: (text: string): boolean =>
      [...heldTexts].some((before) => isShrunk(before, text) || hasDrifted(before, text)),
  };
};

export type GuardJudge = ReturnType<typeof createGuardJudge>;
