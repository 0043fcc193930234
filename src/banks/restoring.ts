import type { Clock } from '../clock.ts';
import { changedAt, type Admission } from './admission.ts';
import type { CachedList, LoadedList, SavedList } from './cached-list.ts';
import { ACCEPTANCES } from './guard/guard.ts';
import { believable, shouldReplace } from './guard/replacement.ts';
import type { ListEvent } from './list-event.ts';
import type { FailureRecord } from './loading/failures.ts';
import { NOTHING_REJECTED } from './reading/entry.ts';

export interface RestoringOptions {
  readonly cached: CachedList;
  readonly admission: Admission;
  readonly failures: FailureRecord;
  readonly clock: Clock;
  readonly isStopped: () => boolean;
  readonly onEvent: (event: ListEvent) => void;
}

/**
 * Takes a list from a store, `savedAgeMs` after the provider sent it, where it may replace the cached one.
 * @returns whether it was taken
 * @throws {LoadError} when the guard refuses it
 */
export const createRestore =
  ({ cached, admission, failures, clock, isStopped, onEvent }: RestoringOptions) =>
  async (stored: SavedList, savedAgeMs: number): Promise<boolean> => {
    const saved = believable(stored, clock.wallMs());
    // Time passes while a long list is encoded; the moment at which it was sent stays.
    const sentAtMs = clock.monotonicMs() - savedAgeMs;
    const loaded: LoadedList = {
      ...saved,
      rejected: NOTHING_REJECTED,
      upstreamFields: [],
      // It was published before, so that nothing is missing from it that was there.
      absentFields: [],
      validators: undefined,
    };
    const taken = await admission.take(loaded, {
      sentAtMs,
      waive: (current) => {
        const replacement = shouldReplace(current && { ...current, sentAtMs: cached.sentAtMs() }, {
          ...saved,
          sentAtMs,
        });
        if (isStopped() || replacement === 'no') return 'overtaken';
        return replacement === 'accepted' ? ACCEPTANCES : [];
      },
      asSuccessor: (previous, isUnchanged) => ({
        receivedAtMs: saved.receivedAtMs,
        changedAtMs: changedAt(previous, isUnchanged, saved.changedAtMs),
        acceptedAtMs: saved.acceptedAtMs,
        // What only the provider knows is as it was.
        ...(previous && { rejected: previous.rejected, upstreamFields: previous.upstreamFields }),
      }),
    });
    if (!taken) return false;
    if (cached.state() === 'fresh') failures.clear();
    onEvent({ type: 'list-restored', ...taken, state: cached.state() });
    return true;
  };
