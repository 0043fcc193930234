import { monotonic, type MonotonicMs } from '../../clock.ts';
import { boundedRetryAfterMs, retryAfterWithoutListMs } from './schedule.ts';

// The wait that the provider's `Retry-After` asks for, as every part has it: in the times of this
// process. Only the lease in the shared store has it by another clock. Pure.

export interface ProviderWait {
  /** When it was received, or a little later: a list that was requested later ends it. */
  readonly receivedAtMs: MonotonicMs;
  readonly untilMs: MonotonicMs;
  /** Until when it holds without a list to serve: at most a minute from when it was received. */
  readonly untilWithoutListMs: MonotonicMs;
}

/** The wait for a `Retry-After` that counts from `receivedAtMs`; undefined where there is none. */
export const waitFor = (
  retryAfterMs: number | undefined,
  receivedAtMs: MonotonicMs,
  ttlMs: number,
): ProviderWait | undefined => {
  if (!retryAfterMs) return undefined;
  const after = (ms: number): MonotonicMs => monotonic(receivedAtMs + ms);
  return {
    receivedAtMs,
    untilMs: after(boundedRetryAfterMs(retryAfterMs, ttlMs)),
    untilWithoutListMs: after(retryAfterWithoutListMs(retryAfterMs)),
  };
};

/** The same wait, as if it had been received at `atMs`. */
export const asReceivedAt = (atMs: MonotonicMs, wait: ProviderWait): ProviderWait => {
  const moved = (ms: MonotonicMs): MonotonicMs => monotonic(ms + (atMs - wait.receivedAtMs));
  return {
    receivedAtMs: atMs,
    untilMs: moved(wait.untilMs),
    untilWithoutListMs: moved(wait.untilWithoutListMs),
  };
};

/** What follows from two waits: of each time, the later one. */
export const longerWait = (some: ProviderWait, other: ProviderWait | undefined): ProviderWait =>
  other
    ? {
        receivedAtMs: later(some.receivedAtMs, other.receivedAtMs),
        untilMs: later(some.untilMs, other.untilMs),
        untilWithoutListMs: later(some.untilWithoutListMs, other.untilWithoutListMs),
      }
    : some;

const later = (some: MonotonicMs, other: MonotonicMs): MonotonicMs => (some > other ? some : other);
