import { admit, type AdmissionOptions } from './admission.ts';
import type { CachedList, SavedList, LoadedList } from './cached-list.ts';
import { ACCEPTANCES } from './guard/guard.ts';
import { believable, shouldReplace, type Replacement } from './guard/replacement.ts';
import type { ListEvent } from './list-event.ts';
import type { FailureRecord } from './loading/failures.ts';
import { NOTHING_REJECTED } from './reading/entry.ts';

export interface RestoringOptions extends AdmissionOptions {
  readonly cached: CachedList;
  readonly failures: FailureRecord;
  readonly onEvent: (event: ListEvent) => void;
}

/**
 * Takes a list from a store, `savedAgeMs` after the provider sent it, where it may replace the cached one.
 * @returns whether it was taken
 * @throws {LoadError} when the guard refuses it
 */
export const createRestore = (options: RestoringOptions) => {
  const { cached, failures, clock, onEvent } = options;
  return async (stored: SavedList, savedAgeMs: number): Promise<boolean> => {
    const saved = believable(stored, clock.wallMs());
    // Time passes while a long list is encoded; the moment at which it was sent stays.
    const sentAtMs = clock.monotonicMs() - savedAgeMs;
    const verdict = (): Replacement => {
      const [list, ageMs = 0] = [cached.get(), cached.ageMs()];
      return shouldReplace(list && { ...list, ageMs }, { ...saved, ageMs: clock.monotonicMs() - sentAtMs });
    };
    const first = verdict();
    if (first === 'no') return false;
    const previous = cached.get();
    // What only the provider knows is as it was, or unknown.
    const { rejected, upstreamFields } = previous ?? { rejected: NOTHING_REJECTED, upstreamFields: [] };
    const loaded: LoadedList = {
      ...saved,
      rejected: NOTHING_REJECTED,
      upstreamFields,
      // It was published before, so that nothing is missing from it that was there.
      absentFields: [],
      validators: undefined,
    };
    const admitted = await admit(loaded, previous, first === 'accepted' ? ACCEPTANCES : [], options);
    const { receivedAtMs, changedAtMs, acceptedAtMs } = saved;
    const list = { ...admitted, receivedAtMs, changedAtMs, acceptedAtMs, rejected };
    // A load may have ended meanwhile.
    if (verdict() === 'no') return false;
    cached.set(list, sentAtMs);
    if (cached.state() === 'fresh') failures.clear();
    onEvent({ type: 'list-restored', list, previous, state: cached.state() });
    return true;
  };
};
