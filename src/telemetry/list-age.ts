import type { BankList } from '../banks/bank-list.ts';
import type { Freshness, FreshnessPolicy } from '../banks/freshness.ts';
import type { Clock } from '../clock.ts';

// Detects when the cached list becomes stale, and when it becomes too old to be served. There is no
// other event for that: a load may be in progress then, or hours away.

export interface ListAgeOptions {
  readonly list: Pick<BankList, 'status'>;
  readonly clock: Clock;
  readonly policy: FreshnessPolicy;
  /** Called within a millisecond after the list's state has changed by its age. */
  readonly onAged: (state: Freshness) => void;
}

export const watchAge = ({ list, clock, policy, onAged }: ListAgeOptions) => {
  let cancel = (): void => undefined;
  const waitFor = (before: Freshness): void => {
    const { state, ageMs = 0 } = list.status();
    if (state !== before) onAged(state);
    const endMs = { fresh: policy.ttlMs, stale: policy.ttlMs + policy.maxStaleMs };
    if (state !== 'fresh' && state !== 'stale') return;
    // +1: at exactly this age the state is the same. A timer may fire before the whole wait is
    // over.
    cancel = clock.after(Math.floor(endMs[state] - ageMs) + 1, () => waitFor(state));
  };
  return {
    /** There is another list, or the same one was sent again. */
    restart: (): void => {
      cancel();
      waitFor(list.status().state);
    },
    end: (): void => cancel(),
  };
};
