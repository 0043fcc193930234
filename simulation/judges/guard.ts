import type { HeldList } from '../../src/banks/cached-list.ts';
import type { Shape } from '../bank-versions.ts';
import type { Life } from '../replica.ts';
import { SECOND, textOf, type Court, type Remembered } from './facts.ts';

// Judges what the guard lets through and what it refuses, beside all that a replica has held.

const WEEK_MS = 7 * 86_400 * SECOND;
/** So many lists are at hand, whatever came between. */
const RECENT_LISTS = 10;

export const createGuardJudge = (court: Court) => {
  const { nowMs: now, news, setup } = court;
  const expectGuarded = court.expectOf('the guard and the operator');
  const expectReturn = court.expectOf('the list of before comes back');
  /** Whatever any replica has held: its memory may have come with a list. */
  const heldTexts = new Set<string>();
  const recentOf = (memory: readonly Remembered[]): readonly Remembered[] => {
    // For certain, whatever the clocks did.
    const windowMs = Math.min(WEEK_MS, setup.maxStaleMs) - 2 * court.wallSpreadMs;
    return memory.filter(({ untilMs }) => now() - untilMs < windowMs);
  };
  const sizeOf = (text: string): number => shapeOf(text)?.size ?? 0;

  const isShrunk = (before: string, text: string): boolean => sizeOf(text) < sizeOf(before) * 0.8;
  const shapeOf = (text: string): Shape | undefined => court.provider.versions.byPublished(text)?.shape;
  const hasDrifted = (before: string, text: string): boolean => {
    const [old, next] = [shapeOf(before), shapeOf(text)];
    if (!old || !next || next.drift === old.drift) return false;
    // A published name that was never filled may be filled again; the other one is gone where all are published.
    return old.drift !== 'name renamed' || setup.fields === 'all';
  };

  news.on('list-load-failed', ({ facts: { delivery, held, memory } }, { error: { kind } }) => {
    if ((kind !== 'shrunk' && kind !== 'drifted') || !delivery || !held) return;
    const { published } = delivery.version;
    const isKnown = recentOf(memory)
      .slice(-RECENT_LISTS)
      .some(({ text }) => text === published);
    expectReturn(!isKnown, 'it is refused');
    // With a store its memory may have come with a list.
    if (kind !== 'shrunk' || setup.hasRedis || setup.hasSnapshot) return;
    const largest = Math.max(sizeOf(textOf(held)), ...memory.map(({ text }) => sizeOf(text)));
    expectReturn(
      sizeOf(published) < largest * 0.8,
      () => `${sizeOf(published)} entries are refused after ${largest}`,
    );
  });

  return {
    /** `list` is about to replace what `life` holds. */
    onTaken: ({ facts }: Life, list: HeldList): void => {
      const { held, memory } = facts;
      const text = textOf(list);
      // A replica that holds a list for the first time may know it from another one, or from its own last life.
      const mayKnow = (setup.hasRedis || setup.hasSnapshot) && heldTexts.has(text);
      heldTexts.add(text);
      if (!held) return;
      const cached = { text: textOf(held), untilMs: now() };
      const recent = recentOf(memory);
      // The last one is known however long ago that was.
      const returnsTo = memory.findLastIndex((one) => one.text === text);
      if ((list.acceptedAtMs ?? 0) > (held.acceptedAtMs ?? 0)) facts.memory = [];
      else if (text === cached.text) return;
      else if (returnsTo !== -1) facts.memory = recent.slice(0, returnsTo);
      else if (mayKnow) facts.memory = [];
      else {
        expectGuarded(!hasDrifted(cached.text, text), 'fields changed');
        for (const one of [cached, ...recent])
          expectGuarded(!isShrunk(one.text, text), () => `${sizeOf(text)} entries after ${sizeOf(one.text)}`);
        facts.memory = [...recent, cached];
      }
    },
    /** Whether a replica may refuse `text` from another one. */
    mayRefuse: (text: string): boolean =>
      [...heldTexts].some((before) => isShrunk(before, text) || hasDrifted(before, text)),
  };
};

export type GuardJudge = ReturnType<typeof createGuardJudge>;
