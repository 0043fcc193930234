import type { Clock } from '../clock.ts';
import type { CachedList } from './cached-list.ts';
import { readWait, type Failing } from './fleet.ts';
import type { FreshnessPolicy } from './freshness.ts';
import type { LoadError } from './load-error.ts';

// When the next load is due: before the list is stale, or after the wait that failures ask for, of
// this replica and of the others. All times are by this process's clock.

/** Loads that have failed; `sinceMs`: when the first one did, in wall-clock milliseconds. */
export type FailingSince = Failing & { readonly sinceMs: number };

export interface ScheduleOptions {
  readonly policy: FreshnessPolicy;
  /** Longest time for a load. */
  readonly loadTimeoutMs: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'wallMs'>;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
}

/** A claim to load outlasts the load by this: an operation of Redis before it and one after it. */
const CLAIM_MARGIN_MS = 2_000;
/** The longest time between two attempts while no list can be served. */
const NO_LIST_MS = 60_000;
/** At least this much of a `Retry-After` is obeyed; more where the TTL is longer. */
const LONGEST_WAIT_MS = 3_600_000;
/** In a fleet another replica makes the attempt after a failure: from another address. */
const OTHERS_FIRST_MS = 1_000;

export const createSchedule = ({ policy, loadTimeoutMs, clock, random }: ScheduleOptions) => {
  const claimMs = loadTimeoutMs + CLAIM_MARGIN_MS;
  const noListMs = Math.max(NO_LIST_MS, claimMs);
  const longestWaitMs = Math.max(policy.ttlMs, LONGEST_WAIT_MS);
  const now = (): number => clock.monotonicMs();

  /** Undefined once a later list has come. */
  let failing: FailingSince | undefined;
  let nextAtMs = -Infinity;
  /** Until when the load of another replica is waited for. */
  let otherLoadUntilMs = -Infinity;
  const dueAtMs = (): number => Math.max(nextAtMs, otherLoadUntilMs);

  const note = (failure: Failing): void => {
    failing = { ...failure, sinceMs: failing?.sinceMs ?? clock.wallMs() };
  };

  return {
    /** How long the claim to a load lasts. */
    claimMs,
    failing: (): FailingSince | undefined => failing,
    /** Milliseconds until the next load; 0 or less: it is due. */
    dueInMs: (): number => dueAtMs() - now(),
    /** The same, whatever other replicas do. */
    ownInMs: (): number => Math.max(0, nextAtMs - now()),
    /** Milliseconds after which a request that got no list can be repeated. */
    retryInMs: (): number => Math.min(noListMs, Math.max(0, dueAtMs() - now())),

    /** There is a later list. Failures of loads that began before it say nothing any more. */
    noteList: ({ id, askedAtMs }: Pick<CachedList, 'id' | 'askedAtMs'>): void => {
      const dueMs = askedAtMs + policy.ttlMs - renewalLeadMs(policy.ttlMs, loadTimeoutMs, random());
      const isOver = !failing || id > failing.id;
      if (isOver) failing = undefined;
      nextAtMs = isOver ? dueMs : Math.max(nextAtMs, dueMs);
    },
    /** There is no list to serve: the wait for the next load has a bound. */
    noteNoList: (): void => {
      nextAtMs = Math.min(nextAtMs, now() + noListMs);
    },
    /**
     * A load of this replica has failed.
     * @param id of the list that was asked for
     * @returns the failure, and how long all replicas wait after it
     */
    noteFailure: (id: string, error: LoadError, isInFleet: boolean) => {
      const failure = { id, attempts: (failing?.attempts ?? 0) + 1, error };
      const retryAfterMs = Math.min(error.retryAfterMs ?? 0, longestWaitMs);
      // A load that an operator asked for does not shorten the wait that there was.
      const leftMs = failing ? nextAtMs - now() : 0;
      const backOffMs = retryDelayMs(failure.attempts, policy.ttlMs, random());
      const waitMs = Math.max(backOffMs, retryAfterMs, leftMs);
      nextAtMs = Math.max(nextAtMs, now() + waitMs + (isInFleet ? OTHERS_FIRST_MS : 0));
      note(failure);
      return { failure, waitMs };
    },
    /**
     * There is another hold in Redis, which ends after `leftMs`.
     * @param listId of the list that is cached; empty: none
     * @returns the failure of another replica, if it is the newest one
     */
    noteHold: (hold: string, leftMs: number, listId: string): Failing | undefined => {
      const failure = readWait(hold);
      // A load is waited for only as long as its hold is there; a wait is remembered.
      otherLoadUntilMs = failure ? -Infinity : now() + Math.min(leftMs, noListMs);
      if (!failure) return undefined;
      const isKnown = failure.id === failing?.id;
      const isOver = failure.id < listId;
      if (isKnown || isOver) return undefined;
      nextAtMs = Math.max(nextAtMs, now() + Math.min(leftMs, longestWaitMs));
      const isOlder = failing !== undefined && failure.id < failing.id;
      if (isOlder) return undefined;
      note(failure);
      return failure;
    },
  };
};

/**
 * How long before it is stale a list is renewed, in milliseconds: a slow load still ends in time,
 * and replicas start at different times. `random` is in [0, 1).
 */
const renewalLeadMs = (ttlMs: number, loadTimeoutMs: number, random: number): number =>
  Math.min(loadTimeoutMs, 0.05 * ttlMs) + 0.01 * ttlMs * random;

/** With less, full jitter could put several calls into an outage's first second. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * The wait after the `attempts`-th failure in a row (1 is the first), in milliseconds: exponential
 * with full jitter above a floor of about 1 s, at most the smaller of the TTL and 1 min. At the cap
 * there is no jitter, so that a long outage costs one call a minute.
 */
const retryDelayMs = (attempts: number, ttlMs: number, random: number): number => {
  const cap = Math.min(ttlMs, LONGEST_RETRY_MS);
  const floor = Math.min(FIRST_RETRY_MS, cap);
  const step = Math.min(cap, FIRST_RETRY_MS * 1.5 * 2 ** (attempts - 1));
  return step === cap ? cap : floor + random * (step - floor);
};
