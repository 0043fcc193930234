import { HOUR, MINUTE, SECOND } from '../durations.ts';
import type { Call, Process } from '../history.ts';
import {
  endOf,
  EXACT_MS,
  fleets,
  isPostponedByAnother,
  isTriedAgain,
  lastAskedMs,
  longestRetryMs,
  nameOf,
  placeOf,
  SETTLED_MS,
  STORE,
  type Check,
  type Timeline,
} from './timeline.ts';

// When the provider is called again after a failure.

/**
 * Whether what Redis has lost of a failure was there again when a process started: one that knows
 * it writes it, unless another call has followed.
 */
const isWrittenAgain = (
  timeline: Timeline,
  { process, askedAtMs, endedAtMs }: Call,
  next: Call | undefined,
  { startedAtMs, readyAtMs }: Process,
): boolean =>
  startedAtMs > endedAtMs &&
  (next?.askedAtMs ?? Infinity) > readyAtMs &&
  [process, ...timeline.othersOf(process)].some(
    (each) =>
      timeline.ranThrough(each, askedAtMs, startedAtMs) &&
      (each === process || timeline.isConnected(each, askedAtMs - SETTLED_MS, endedAtMs + SECOND)),
  ) &&
  !timeline.troubled(['redis'], 'all', askedAtMs - SETTLED_MS, readyAtMs) &&
  !timeline.troubled(['silent redis'], 'all', startedAtMs - SETTLED_MS, readyAtMs);

export const retryAfterIsObeyed: Check = function* (timeline) {
  for (const calls of fleets(timeline))
    for (const [index, asked] of calls.entries()) {
      const { retryAfterMs, endedAtMs, process } = asked;
      if (!retryAfterMs || endedAtMs - asked.askedAtMs >= process.timeoutMs) continue;
      const isShared = timeline.isConnected(
        process,
        asked.askedAtMs - SETTLED_MS,
        endedAtMs + SECOND,
      );
      for (let next = index + 1; next < calls.length; next += 1) {
        const call = calls[next];
        if (!call || call.askedAtMs > endedAtMs + retryAfterMs) break;
        const { startedAtMs, readyAtMs } = call.process;
        // Who has been told of it still knows it when Redis has gone.
        const toldAtMs = Math.min(call.askedAtMs, Math.max(endedAtMs, readyAtMs) + SETTLED_MS);
        const sinceMs = asked.askedAtMs - SETTLED_MS;
        const isKnown =
          call.process === process ||
          (isShared &&
            !timeline.troubled(['redis clock'], 'all', sinceMs, toldAtMs) &&
            // Its claim may come to Redis just before the failure.
            call.askedAtMs > endedAtMs + SECOND &&
            timeline.isConnected(call.process, Math.max(sinceMs, readyAtMs), toldAtMs) &&
            // One that sleeps while it starts gives up waiting for Redis.
            !timeline.troubled(['sleep'], call.process.index, startedAtMs, readyAtMs) &&
            // One that starts reads it in Redis.
            (!timeline.troubled(STORE, 'all', sinceMs, toldAtMs) ||
              isWrittenAgain(timeline, asked, calls[index + 1], call.process)));
        const limitMs = call.hadList
          ? Math.max(Math.min(process.ttlMs, call.process.ttlMs), HOUR)
          : MINUTE;
        const untilMs = endedAtMs + Math.min(retryAfterMs, limitMs);
        // By a wrong clock, a restored list may seem to have been asked for after it.
        const cached = timeline.listAt(call.process, call.askedAtMs);
        const isAgeKnown = !cached || timeline.isAgeKnown(call.process, cached, call.askedAtMs);
        if (
          isKnown &&
          isAgeKnown &&
          !call.isForced &&
          call.askedAtMs > endedAtMs &&
          call.askedAtMs < untilMs - SECOND
        )
          yield [
            call.askedAtMs,
            call.process,
            `calls ${untilMs - call.askedAtMs} ms before Retry-After is over`,
          ];
        // A list ends it that was asked for after it.
        if (call.askedAtMs > endedAtMs && call.deliveredAtMs < Infinity) break;
      }
    }
};

/** The guard has refused the list of a call: the process goes on with the one before. */
const isRefused = ({ listAt, servingsOf }: Timeline, call: Call): boolean => {
  const { process, list, askedAtMs, deliveredAtMs } = call;
  const before = listAt(process, askedAtMs);
  if (!list || !before || before === list) return false;
  // It is served once it has been compressed.
  const isServed = servingsOf(process).some(
    (serving) =>
      serving.list === list &&
      serving.fromMs >= deliveredAtMs &&
      serving.fromMs <= deliveredAtMs + 2 * SECOND,
  );
  return !isServed && listAt(process, deliveredAtMs) === before;
};

/**
 * Waits have full jitter: so many attempts take at least so many of the longest back-offs. It is
 * half of each on average.
 */
const PACE = [
  { attempts: 20, longestRetries: 3 },
  { attempts: 60, longestRetries: 18 },
];

export const aFleetBacksOffAsOneClient: Check = function* (timeline) {
  for (const calls of fleets(timeline)) {
    let failed: Call[] = [];
    let callers = new Set<Process>();
    const isOneClient = (from: Call, to: Call): boolean =>
      callers.size === 1 ||
      [...callers].every((process) =>
        timeline.isConnected(process, from.askedAtMs - SETTLED_MS, to.askedAtMs),
      );
    for (const call of calls.filter(({ isForced }) => !isForced)) {
      if (call.list && !isRefused(timeline, call)) {
        failed = [];
        callers = new Set();
        continue;
      }
      failed.push(call);
      callers.add(call.process);
      for (const { attempts, longestRetries } of PACE) {
        // The first waits are short.
        const from = failed.length > attempts + 6 ? failed.at(-attempts - 1) : undefined;
        if (!from) continue;
        const tookMs = call.askedAtMs - from.askedAtMs;
        const isQuick = tookMs < longestRetries * longestRetryMs(call.process);
        if (isQuick && isOneClient(failed[0] ?? call, call))
          yield [
            call.askedAtMs,
            call.process,
            `makes the last of ${attempts} attempts in ${tookMs} ms`,
          ];
      }
    }
  }
};

/** What it takes to write a failure to Redis: a part of the wait. */
const WRITTEN_MS = 0.25 * SECOND;
/** What a claim in Redis, a message and the hand-over to another replica take. */
const HANDED_ON_MS = 1.5 * SECOND;

/** What Redis has lost of a failure is there again by then, and what was written late has come. */
const CALM_MS = MINUTE / 2;

/** Whether nothing but the provider decided when the fleet of a call made its next one. */
const isCalm = (timeline: Timeline, { process }: Call, fromMs: number, toMs: number): boolean =>
  timeline.hasRedis
    ? !timeline.troubled([...STORE, 'redis clock', 'sleep', 'clock'], 'all', fromMs, toMs)
    : timeline.ranThrough(process, fromMs, toMs);

/** How many calls of a fleet have failed, or may have, up to this one. */
const failuresUpTo = (timeline: Timeline, calls: readonly Call[], index: number): number =>
  index - calls.slice(0, index).findLastIndex((call) => timeline.wasTaken(call));

/**
 * The waits at least double from a second on: after so many failures in a row it is the longest one,
 * which has no jitter. One failure may be lost with its replica.
 */
const failuresToLongest = (longestMs: number): number =>
  Math.ceil(Math.log2(longestMs / SECOND)) + 2;

/**
 * Whether so many have failed in a row that the next wait is certainly the longest one: also a
 * replica that has started meanwhile counts those of the others.
 */
const haveManyFailed = (timeline: Timeline, calls: readonly Call[], index: number): boolean => {
  const longestMs = Math.max(...calls.map(({ process }) => longestRetryMs(process)));
  const count = failuresToLongest(longestMs);
  const many = calls.slice(Math.max(0, index + 1 - count), index + 1);
  const [first, last] = [many[0], many.at(-1)];
  if (!first || !last || many.length < count) return false;
  const fromMs = first.askedAtMs;
  // To one that starts with a list of its own, earlier failures are over.
  const hasOwnList = timeline.processes.some(
    (process) =>
      process.fields === last.process.fields &&
      process.startedAtMs > fromMs - MINUTE &&
      process.restoredFrom === 'CACHE_SNAPSHOT_FILE',
  );
  // Redis has a failure for some seconds after the next attempt is due: nobody may have made it.
  const isForgotten = many.some(
    ({ askedAtMs }, at) =>
      askedAtMs - (many[at - 1]?.endedAtMs ?? Infinity) > longestMs + 5 * SECOND,
  );
  return (
    !isForgotten &&
    many.every(({ failure, isForced }) => failure && !isForced) &&
    (timeline.hasRedis ? !hasOwnList : timeline.ranThrough(last.process, fromMs, last.endedAtMs)) &&
    isCalm(timeline, last, fromMs - CALM_MS, last.endedAtMs)
  );
};

/** The latest moment of the next attempt that a `Retry-After` leaves to a fleet. */
const postponedUntilMs = (timeline: Timeline, calls: readonly Call[], atMs: number): number =>
  Math.max(
    ...calls
      .filter((call) => call.retryAfterMs !== undefined && call.endedAtMs <= atMs)
      .map((call) => timeline.leaveAloneUntilMs(call)),
  );

/**
 * Each attempt of a fleet comes when that of one client would, whoever makes it: also a replica that
 * has started since.
 */
export const aFailureIsFollowedInTime: Check = function* (timeline) {
  const lines = timeline.hasRedis ? fleets(timeline) : timeline.processes.map(timeline.callsOf);
  for (const calls of lines)
    for (const [index, call] of calls.entries()) {
      const { process, failure } = call;
      // What was left of an operator's time says nothing of the provider.
      if (!failure || (call.isForced && failure === 'timeout')) continue;
      if (isTriedAgain(timeline, call)) continue;
      const fromMs = endOf(timeline, call);
      const next = calls[index + 1];
      // The next one may have been under way already.
      if (next && next.askedAtMs <= fromMs) continue;
      if (!timeline.ranThrough(process, call.askedAtMs, fromMs + SECOND)) continue;
      const slowestMs = timeline.longestRetryMs(process);
      const quickestMs = Math.min(...calls.map((each) => longestRetryMs(each.process)));
      const leastMs = Math.min(
        haveManyFailed(timeline, calls, index) ? MINUTE : SECOND,
        quickestMs,
      );
      const mostMs = Math.min(2 ** failuresUpTo(timeline, calls, index) * SECOND, slowestMs);
      const [earlyMs, slackMs] = timeline.hasRedis
        ? [WRITTEN_MS, HANDED_ON_MS]
        : [EXACT_MS, EXACT_MS];
      const latestMs =
        Math.max(fromMs + mostMs, postponedUntilMs(timeline, calls, fromMs)) + slackMs;
      const untilMs = Math.min(next?.askedAtMs ?? Infinity, latestMs);
      // A load that goes on is waited for, and one that has just brought a list was not a failure.
      const isUnderWay = calls
        .slice(0, index)
        .some(
          (other) =>
            endOf(timeline, other) > fromMs ||
            (!other.failure && other.endedAtMs > call.askedAtMs - SETTLED_MS),
        );
      if (isUnderWay || !isCalm(timeline, call, call.askedAtMs - CALM_MS, untilMs)) continue;
      const waitMs = untilMs - fromMs;
      // One that has just claimed the lease is waited for.
      const isClaimed = timeline.processes.some(
        ({ fields, endedAtMs }) =>
          fields === process.fields &&
          endedAtMs <= latestMs &&
          endedAtMs > latestMs - slackMs - SECOND,
      );
      if (next && !next.isForced && next.askedAtMs < fromMs + leastMs - earlyMs)
        yield [untilMs, next.process, `calls ${waitMs} ms after the failure of ${placeOf(call)}`];
      if (
        untilMs === latestMs &&
        !isClaimed &&
        latestMs < timeline.endedAtMs &&
        timeline.ranThrough(process, fromMs, latestMs)
      )
        yield [untilMs, process, `has not called for ${waitMs} ms after ${placeOf(call)}`];
    }
};

export const attemptsGoOn: Check = function* (timeline) {
  for (const calls of fleets(timeline))
    for (const [index, call] of calls.entries()) {
      const { process, failure, endedAtMs } = call;
      if (!failure) continue;
      const fromMs = timeline.leaveAloneUntilMs(call);
      const dueMs = fromMs + timeline.longestRetryMs(process) + 2 * process.timeoutMs + 20 * SECOND;
      const isShaken = timeline.troubled([...STORE, 'process', 'sleep'], 'all', endedAtMs, dueMs);
      const limitMs = dueMs + (isShaken ? MINUTE + 20 * SECOND : 0);
      if (!timeline.ranThrough(process, call.askedAtMs, limitMs) || limitMs > timeline.endedAtMs)
        continue;
      const list = timeline.listAt(process, limitMs);
      const isFresh =
        list &&
        (limitMs - lastAskedMs(list, limitMs) < process.ttlMs ||
          !timeline.isAgeKnown(process, list, limitMs));
      const next = calls[index + 1]?.askedAtMs ?? Infinity;
      if (next > limitMs && !isFresh && !isPostponedByAnother(timeline, calls, call, limitMs))
        yield [limitMs, process, `has not called again since ${placeOf(call)}`];
    }
};

/** A list that was refused in comparison with another one is asked for again once that is over. */
export const aRefusalEndsWithTheList: Check = function* (timeline) {
  for (const process of timeline.processes)
    for (const [index, { list, untilMs }] of timeline.servingsOf(process).entries()) {
      const next = timeline.servingsOf(process)[index + 1];
      if (!list || !next || next.list) continue;
      const calls = timeline.calls.filter((call) => call.process.fields === process.fields);
      const last = calls.findLast(({ askedAtMs }) => askedAtMs < untilMs - SETTLED_MS);
      if (!last?.list || timeline.wasTaken(last)) continue;
      // One without any name is refused without a comparison.
      if (last.list.shape.nameless >= last.list.shape.size) continue;
      const limitMs = untilMs + 6 * SECOND + process.timeoutMs;
      const isShaken = timeline.troubled(
        [...STORE, 'sleep', 'clock', 'process'],
        'all',
        last.askedAtMs - SETTLED_MS,
        limitMs,
      );
      const isCalled = calls.some(
        ({ askedAtMs }) => askedAtMs > untilMs - 2 * SETTLED_MS && askedAtMs < limitMs,
      );
      if (!isShaken && !isCalled && !isPostponedByAnother(timeline, calls, last, limitMs))
        yield [limitMs, process, `has not called since ${nameOf(list)} is over`];
    }
};
