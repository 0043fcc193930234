import { freshness, isServable, type FreshnessPolicy } from '../banks/freshness.ts';
import type { SavedList } from '../banks/fleet.ts';
import { systemClock } from '../clock.ts';

// What the commands need that load a list once and end.

/** The list that a service would hold if it started with this saved one now. */
export const heldOf = (
  saved: SavedList | undefined,
  policy: FreshnessPolicy,
): SavedList | undefined =>
  saved && isServable(freshness(systemClock.monotonicMs() - saved.askedAtMs, policy))
    ? saved
    : undefined;
