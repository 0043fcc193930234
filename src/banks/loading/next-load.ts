import { monotonic, type MonotonicMs } from '../../clock.ts';
import { isOverridable } from '../guard/guard.ts';
import type { LoadErrorKind } from '../load-error.ts';
import type { FailingLoads } from '../failures.ts';
import type { RenewalOptions } from './renewal-options.ts';
import { renewalDelayMs, retryDelayMs } from './schedule.ts';

// When the next load is due: by the age of the list, the failures, and the provider's Retry-After.

/** When the next load is due, and what that follows from. */
interface Plan {
  /** The failures, where the last load failed. */
  readonly failing: FailingLoads | undefined;
  /** Otherwise when the cached list was loaded, if there is one. */
  readonly loadedAtMs: MonotonicMs | undefined;
  readonly dueAtMs: MonotonicMs;
}

export type NextLoad = ReturnType<typeof createNextLoad>;

export const createNextLoad = (options: RenewalOptions) => {
  const { ttlMs, keeper, fleet, retryAfter, clock, random } = options;
  const { cache, failures } = keeper;
  /** How long the last load that brought a list took, in milliseconds. */
  let lastLoadMs = 0;
  let planned: Plan = { failing: undefined, loadedAtMs: undefined, dueAtMs: clock.monotonicMs() };

  return {
    /** A load has brought a list, ready to be served, in so many milliseconds. */
    noteLoad: (loadMs: number): void => void (lastLoadMs = loadMs),
    /** Draws when the next load is due, once for each failure and each list. */
    plan: (): void => {
      const { failing } = failures.current();
      // By the time and not by the id: a restored list may turn out to be older than its snapshot
      // says.
      const loadedAtMs = failing ? undefined : cache.get()?.loadedAtMs;
      if (failing === planned.failing && loadedAtMs === planned.loadedAtMs) return;
      const delayMs = failing
        ? retryDelayMs(failing.attempts, ttlMs, random()) + fleet.handoverMs
        : renewalDelayMs(cache.freshForMs(), ttlMs, lastLoadMs, random());
      planned = { failing, loadedAtMs, dueAtMs: monotonic(clock.monotonicMs() + delayMs) };
    },
    /** After a failure of another replica: the next load is due when that replica says. */
    planAt: (dueAtMs: MonotonicMs): void => {
      planned = { failing: failures.current().failing, loadedAtMs: undefined, dueAtMs };
    },
    /** Milliseconds until the planned load is due. */
    dueInMs: (): number => {
      const plannedMs = planned.dueAtMs - clock.monotonicMs();
      const dueMs = dependsOnCachedList(failures.current().failure)
        ? Math.min(plannedMs, cache.expiresInMs())
        : plannedMs;
      return Math.max(0, dueMs, retryAfter.leftMs());
    },
  };
};

/**
 * Whether a list was refused in comparison with the cached one. That says nothing to a replica with
 * nothing to serve, which would take that list.
 */
export const dependsOnCachedList = (
  failure: { readonly kind: LoadErrorKind } | undefined,
): boolean => isOverridable(failure?.kind);
