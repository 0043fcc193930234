import type { Clock } from '../clock.ts';
import { changedAt, type Admission } from './admission.ts';
import type { CachedList, LoadedList, SavedList } from './cached-list.ts';
import { ACCEPTANCES } from './guard/guard.ts';
import type { FreshnessPolicy } from './freshness.ts';
import { ageOf, believable, shouldReplace } from './guard/replacement.ts';
import type { ListEvent } from './list-event.ts';
import type { FailureRecord } from './loading/failures.ts';
import { NOTHING_REJECTED } from './reading/entry.ts';

export interface RestoringOptions {
  readonly cached: CachedList;
  readonly admission: Admission;
  readonly failures: FailureRecord;
  readonly policy: FreshnessPolicy;
  readonly clock: Clock;
  readonly isStopped: () => boolean;
  readonly onEvent: (event: ListEvent) => void;
}

/**
 * Takes a list from a store, which reports that it is `reportedAgeMs` old or does not know, where it may replace the cached one.
 * @returns whether it was taken
 * @throws {LoadError} when the guard refuses it
 */
export const createRestore =
  ({ cached, admission, failures, policy, clock, isStopped, onEvent }: RestoringOptions) =>
  async (stored: SavedList, reportedAgeMs: number | undefined): Promise<boolean> => {
    const saved = believable(stored, clock.wallMs());
    // Time passes while a long list is encoded; the moment at which it was sent stays.
    const nowMs = clock.monotonicMs();
    const ageMs = ageOf(saved, reportedAgeMs, clock.wallMs(), policy.ttlMs);
    const sent = { sentAtMs: nowMs - Math.max(0, reportedAgeMs ?? ageMs), countedFromMs: nowMs - ageMs };
    const loaded: LoadedList = {
      ...saved,
      rejected: NOTHING_REJECTED,
      upstreamFields: [],
      // It was published before, so that nothing is missing from it that was there.
      absentFields: [],
      validators: undefined,
    };
    const taken = await admission.take(loaded, {
      sent,
      waive: (current) => {
        const replacement = shouldReplace(current, { ...saved, ...sent });
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
