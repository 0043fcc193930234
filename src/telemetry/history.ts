import type { LoadErrorKind } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import type { ServiceEvent } from './events.ts';

// The last six hours by the minute, for the status page. Only minutes in which something happened are stored, at most 360,
// so no timer is needed.

export interface Minute {
  /** The greatest age of the list; undefined if there was no list. */
  readonly oldestAgeMs: number | undefined;
  readonly renewed: number;
  readonly failed: number;
  readonly lastFailure: LoadErrorKind | undefined;
  /** The longest request to the provider; undefined if there was none. */
  readonly slowestCallMs: number | undefined;
  readonly requests: number;
  /** Requests answered with a status of 500 or above. */
  readonly failedRequests: number;
}

export interface History {
  onEvent(event: ServiceEvent): void;
  /** The last minutes without gaps, oldest first, none from before the start. The last one is incomplete. */
  minutes(): readonly Minute[];
}

export interface HistoryOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The list's age now. */
  readonly ageMs: () => number | undefined;
}

export const HISTORY_MINUTES = 360;
const MINUTE_MS = 60_000;

export const createHistory = ({ clock, ageMs }: HistoryOptions): History => {
  const startedAtMs = clock.monotonicMs();
  const tallies = new Map<number, Tally>();
  /** The age of the list at a moment; it grows with time until the next one is known. */
  let known: AgeAt | undefined;
  let knownBefore: AgeAt | undefined;

  const minuteOf = (atMs: number): number => Math.floor((atMs - startedAtMs) / MINUTE_MS);

  const tallyAt = (atMs: number): Tally => {
    const minute = minuteOf(atMs);
    const current = tallies.get(minute);
    if (current) return current;
    for (const [old, { knownAge }] of tallies) {
      if (old > minute - HISTORY_MINUTES) break;
      knownBefore = knownAge ?? knownBefore;
      tallies.delete(old);
    }
    const tally = { ...NOTHING, knownAge: known };
    tallies.set(minute, tally);
    return tally;
  };

  /** Call this after every change of the list's age. */
  const noteAge = (tally: Tally, atMs: number): void => {
    tally.oldestAgeMs = oldest(tally.oldestAgeMs, ageAt(known, atMs));
    const age = ageMs();
    known = age === undefined ? undefined : { ageMs: age, atMs };
    tally.knownAge = known;
    tally.oldestAgeMs = oldest(tally.oldestAgeMs, age);
  };

  return {
    onEvent: (event) => {
      const nowMs = clock.monotonicMs();
      const tally = tallyAt(nowMs);
      switch (event.type) {
        case 'request-finished':
          tally.requests += 1;
          if (event.status >= 500) tally.failedRequests += 1;
          break;
        case 'list-renewed':
          tally.renewed += 1;
          noteAge(tally, nowMs);
          break;
        case 'list-restored':
          noteAge(tally, nowMs);
          break;
        case 'list-load-failed':
          tally.failed += 1;
          tally.lastFailure = event.error.kind;
          break;
        case 'provider-called':
          tally.slowestCallMs = Math.max(tally.slowestCallMs ?? 0, event.durationMs);
          break;
        case 'store-empty':
        case 'store-failed':
        case 'store-recovered':
        case 'token-renewed':
        case 'token-renewal-failed':
          break;
      }
    },
    minutes: () => {
      const nowMs = clock.monotonicMs();
      const last = minuteOf(nowMs);
      const first = Math.max(0, last - HISTORY_MINUTES + 1);
      let age = knownBefore;
      for (const [minute, { knownAge }] of tallies) if (minute < first) age = knownAge ?? age;
      return Array.from({ length: last - first + 1 }, (_, index) => {
        const minute = first + index;
        const tally = tallies.get(minute) ?? NOTHING;
        age = tally.knownAge ?? age;
        const endMs = Math.min(nowMs, startedAtMs + (minute + 1) * MINUTE_MS);
        return { ...tally, oldestAgeMs: oldest(tally.oldestAgeMs, ageAt(age, endMs)) };
      });
    },
  };
};

interface AgeAt {
  readonly ageMs: number;
  readonly atMs: number;
}

type Tally = { -readonly [K in keyof Minute]: Minute[K] } & { knownAge: AgeAt | undefined };

const NOTHING: Readonly<Tally> = {
  oldestAgeMs: undefined,
  renewed: 0,
  failed: 0,
  lastFailure: undefined,
  slowestCallMs: undefined,
  requests: 0,
  failedRequests: 0,
  knownAge: undefined,
};

const ageAt = (known: AgeAt | undefined, atMs: number): number | undefined =>
  known && known.ageMs + atMs - known.atMs;

const oldest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : Math.max(a, b ?? 0);
