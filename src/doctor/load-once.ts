import { freshness, isServable, type FreshnessPolicy } from '../banks/freshness.ts';
import type { SavedList } from '../banks/fleet.ts';
import { LoadError, loadTimeout } from '../banks/load-error.ts';
import type { LoadedList } from '../banks/reading/list-reader.ts';
import { systemClock } from '../clock.ts';
import { withDeadline } from '../deadline.ts';
import type { createProvider } from '../provider/provider.ts';

// What the commands need that load a list once and end.

/** Makes a load, as the service does, and closes the provider. @throws {LoadError} */
export const loadOnce = async (
  provider: ReturnType<typeof createProvider>,
  limitMs: number,
): Promise<LoadedList> => {
  try {
    return await withDeadline(provider.load, {
      limitMs,
      clock: systemClock,
      timeoutError: () => loadTimeout(limitMs),
    });
  } catch (error) {
    throw LoadError.from(error);
  } finally {
    provider.close();
  }
};

/** The list that a service would hold if it started with this saved one now. */
export const heldOf = (
  saved: SavedList | undefined,
  policy: FreshnessPolicy,
): SavedList | undefined =>
  saved && isServable(freshness(systemClock.monotonicMs() - saved.askedAtMs, policy))
    ? saved
    : undefined;
