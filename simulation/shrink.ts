/* oxlint-disable no-await-in-loop -- each attempt depends on the one before */
import type { Plan } from './events.ts';

// Delta debugging (Zeller): the events that a failure needs, found by leaving out ever smaller parts of the others.

/** @returns the indices of the events with which `fails` still holds; leaving out any one of them does not fail */
export const shrink = async (
  { setup, events }: Plan,
  fails: (plan: Plan) => Promise<boolean>,
  limitMs: number,
): Promise<number[]> => {
  const untilMs = performance.now() + limitMs;
  let kept = events.map((_, index) => index);
  let part = Math.ceil(kept.length / 2);
  while (part >= 1 && performance.now() < untilMs) {
    let isSmaller = false;
    for (let start = kept.length - part; start > -part && performance.now() < untilMs; start -= part) {
      const left = kept.filter((_, at) => at < start || at >= start + part);
      if (left.length === kept.length || !(await fails({ setup, events: keep(events, left) }))) continue;
      kept = left;
      isSmaller = true;
    }
    if (part > 1) part = Math.min(Math.ceil(part / 2), Math.max(1, Math.ceil(kept.length / 2)));
    else if (!isSmaller) break;
  }
  return kept;
};

export const keep = <T>(all: readonly T[], indices: readonly number[]): T[] =>
  indices.flatMap((index) => all[index] ?? []);
