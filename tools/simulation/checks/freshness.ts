import type { BankList } from '../bank-lists.ts';
import { HOUR, MINUTE, SECOND } from '../durations.ts';
import type { Process } from '../history.ts';
import {
  endOf,
  GUARD_FAILURES,
  lastAskedMs,
  nameOf,
  placeOf,
  SETTLED_MS,
  STORE,
  type Check,
  type Timeline,
} from './timeline.ts';

// How fresh what is served is, and who waits.

/**
 * Once the provider is healthy, a fresh list is there after the longest back-off, loads and leases,
 * and what it takes to find out that Redis has gone.
 */
const recoveryMs = (timeline: Timeline, process: Process): number =>
  2 * timeline.longestRetryMs(process) + 4 * process.timeoutMs + 20 * SECOND;

/** Whether the guard had a reason to refuse what the provider has sent. */
const mayBeRefused = (timeline: Timeline, process: Process, atMs: number): boolean => {
  const sinceMs = atMs - recoveryMs(timeline, process) - process.ttlMs;
  const lately = timeline.calls.filter(
    ({ process: { fields }, askedAtMs }) =>
      fields === process.fields && askedAtMs <= atMs && askedAtMs >= sinceMs,
  );
  return lately.some(
    ({ list, askedAtMs }) => list && timeline.mayGuardRefuse(process, list, askedAtMs),
  );
};

/** The list of a process at a moment, as a browser or an operator saw it. */
interface Sight {
  readonly process: Process;
  readonly atMs: number;
  readonly list: BankList | undefined;
  readonly ageMs: number;
}

/** What browsers got, and what the status page was made of. */
const sights = ({ visits, readings }: Timeline): Sight[] => [
  ...visits.map(({ process, endedAtMs = 0, list, ageMs = 0 }) => ({
    process,
    atMs: endedAtMs,
    list,
    ageMs,
  })),
  ...readings
    .filter(({ isReady }) => isReady)
    .map(({ process, atMs, list, status }) => ({ process, atMs, list, ageMs: status.ageMs ?? 0 })),
];

export const whatIsServedIsFresh: Check = function* (timeline) {
  for (const { process, atMs, list, ageMs } of sights(timeline)) {
    if (!list) continue;
    const sinceMs = atMs - recoveryMs(timeline, process);
    // Another replica that is the next to load, and cannot, is given up after its time.
    const isShaken =
      timeline.troubled(['process', 'sleep'], 'all', sinceMs, atMs) ||
      timeline.troubled(STORE, 'all', sinceMs, atMs);
    const delayMs = isShaken ? 2 * process.timeoutMs + 10 * SECOND : 0;
    // Long before it is stale a list is renewed ahead of that.
    const oldest = process.ttlMs + (process.ttlMs >= HOUR && !isShaken ? 0 : 3 * SECOND) + delayMs;
    // One that Redis has got back is renewed at once.
    if (isShaken && timeline.listAt(process, atMs - delayMs) !== list) continue;
    const isOld =
      ageMs > oldest ||
      (timeline.isAgeKnown(process, list, atMs) && atMs - lastAskedMs(list, atMs) > oldest);
    if (!isOld || !timeline.ranThrough(process, sinceMs, atMs)) continue;
    if (!timeline.isHealthy(process, sinceMs, atMs) || mayBeRefused(timeline, process, atMs))
      continue;
    yield [atMs, process, `serves ${nameOf(list)}, and says that it is ${ageMs} ms old`];
  }
};

export const aListIsThereWhenTheProviderIs: Check = function* (timeline) {
  for (const { process, atMs, failure, endedAtMs = atMs } of timeline.visits) {
    const sinceMs = atMs - recoveryMs(timeline, process);
    if (!failure || !timeline.isHealthy(process, sinceMs, endedAtMs)) continue;
    if (timeline.troubled(['sleep'], 'all', sinceMs, endedAtMs) || process.endedAtMs <= endedAtMs)
      continue;
    if (timeline.troubled(STORE, 'all', sinceMs, endedAtMs)) continue;
    const isShaken = timeline.processes.some(
      (other) => other !== process && other.endedAtMs >= sinceMs && other.endedAtMs <= endedAtMs,
    );
    // What has just become too old for a replica was the guard's measure until then.
    const isJustOver = timeline.servings.some(
      ({ list, process: other, untilMs }) =>
        list !== undefined &&
        other.fields === process.fields &&
        untilMs <= atMs &&
        untilMs > atMs - 2 * other.timeoutMs - 5 * SECOND &&
        mayBeRefused(timeline, process, untilMs),
    );
    // A list that has just come takes a moment to be compressed.
    const hasCome = timeline.calls.some(
      (call) =>
        call.process === process &&
        call.deliveredAtMs <= endedAtMs &&
        call.deliveredAtMs > endedAtMs - 1.5 * SECOND,
    );
    if (isJustOver || hasCome) continue;
    // It may be refused as a first list.
    const hasFields = timeline.calls.every(
      ({ list, askedAtMs }) =>
        !list || askedAtMs < sinceMs || list.shape.nameless < list.shape.size,
    );
    if (isShaken || !hasFields) continue;
    yield [endedAtMs, process, `answers ${failure}`];
  }
};

export const nobodyWaitsTooLong: Check = function* (timeline) {
  for (const { process, atMs, endedAtMs = Infinity } of timeline.visits) {
    const limitMs = process.timeoutMs + SECOND;
    if (timeline.isUnanswered(process, atMs, limitMs, endedAtMs))
      yield [atMs, process, `has not answered after ${limitMs} ms`];
  }
};

export const whoComesDuringALoadWaitsForIt: Check = function* (timeline) {
  for (const { process, atMs, failure, endedAtMs = atMs } of timeline.visits) {
    if (!failure || process.endedAtMs <= endedAtMs || endedAtMs - atMs >= process.timeoutMs)
      continue;
    const load = timeline
      .callsOf(process)
      .find((call) => call.askedAtMs < atMs && endOf(timeline, call) > endedAtMs);
    if (load) yield [endedAtMs, process, `answers ${failure} during the load of ${placeOf(load)}`];
  }
};

/** Not once the other replicas know, too. */
export const whoWaitsHearsOfAFailureAtOnce: Check = function* (timeline) {
  for (const { process, atMs, failure, endedAtMs = atMs } of timeline.visits) {
    const calls = timeline.callsOf(process).filter(({ askedAtMs }) => askedAtMs <= endedAtMs);
    const last = calls.at(-1);
    if (!failure || !last?.failure || last.askedAtMs > atMs) continue;
    const failedAtMs = endOf(timeline, last);
    const lateMs = endedAtMs - Math.max(atMs, failedAtMs);
    if (failedAtMs < atMs || lateMs < SECOND / 4) continue;
    if (timeline.ranThrough(process, last.askedAtMs, endedAtMs))
      yield [endedAtMs, process, `answers ${failure} ${lateMs} ms after ${placeOf(last)} failed`];
  }
};

export const aKnownFailureIsAnsweredAtOnce: Check = function* (timeline) {
  for (const { process, atMs, endedAtMs = Infinity, failure } of timeline.visits) {
    if (
      !failure ||
      endedAtMs - atMs < SECOND ||
      !timeline.isConnected(process, Math.max(process.readyAtMs, atMs - 15 * SECOND), endedAtMs) ||
      timeline.troubled(STORE, 'all', atMs - 15 * SECOND, endedAtMs)
    )
      continue;
    const calls = timeline.calls.filter(({ process: { fields } }) => fields === process.fields);
    const last = calls.findLast((call) => call.endedAtMs < atMs - SECOND);
    // What the process itself asks for is worth waiting for, and what has just come.
    const isLoading = calls.some(
      (call) =>
        call.endedAtMs >= atMs - SECOND &&
        (call.process === process
          ? call.askedAtMs <= atMs + SECOND / 2
          : call.askedAtMs <= endedAtMs && call.list !== undefined),
    );
    const toldMs = last && Math.max(last.process.readyAtMs, last.askedAtMs - 15 * SECOND);
    const wasTold =
      last && timeline.isConnected(last.process, toldMs ?? 0, last.endedAtMs + SECOND);
    if (!isLoading && wasTold && last.failure && atMs - last.endedAtMs < 60 * SECOND)
      yield [atMs, process, `answers only after ${endedAtMs - atMs} ms what is known: ${failure}`];
  }
};

/** The longest back-off, and the longest Retry-After that is obeyed without a list: README. */
const LONGEST_WAIT_MS = MINUTE;

export const browsersAreToldToComeBackInTime: Check = function* (timeline) {
  for (const { process, endedAtMs: atMs, retryInMs } of timeline.visits) {
    if (atMs === undefined || retryInMs === undefined || process.endedAtMs <= atMs) continue;
    const calls = timeline.calls.filter(
      (call) => call.process.fields === process.fields && call.askedAtMs <= atMs,
    );
    const lastMs = Math.max(...calls.map((call) => endOf(timeline, call)));
    // Of a failure that Redis still has, a process that starts does not know when it came.
    const fromMs = Math.max(lastMs, process.readyAtMs);
    const lateMs = retryInMs - Math.max(0, fromMs + LONGEST_WAIT_MS - atMs);
    const isShaken = timeline.troubled(['sleep'], 'all', lastMs - SETTLED_MS, atMs);
    // A slow Redis costs a part of that.
    if (lastMs <= atMs && lateMs > 5 * SECOND && !isShaken)
      yield [atMs, process, `tells a browser to wait ${lateMs} ms too long`];
  }
};

export const failuresAreThoseOfTheProvider: Check = function* (timeline) {
  for (const { process, atMs, endedAtMs = Infinity, failure } of timeline.visits) {
    // Without a token no call is made.
    if (!failure || failure === 'no_token' || process.endedAtMs <= endedAtMs) continue;
    const calls = timeline.calls.filter(
      (call) => call.process.fields === process.fields && call.askedAtMs <= endedAtMs,
    );
    // What cannot be told from here: whether a load was refused, or ended before its answer.
    const isExcused = calls.some(
      ({ list, askedAtMs, endedAtMs: callEndedAtMs, process: { timeoutMs } }) =>
        failure === 'timeout'
          ? Math.min(callEndedAtMs, endedAtMs) - askedAtMs >= timeoutMs - SECOND
          : list !== undefined && GUARD_FAILURES.includes(failure),
    );
    const hasWaited = failure === 'timeout' && endedAtMs - atMs >= process.timeoutMs;
    if (!isExcused && !hasWaited && !calls.some((call) => call.failure === failure))
      yield [endedAtMs, process, `answers ${failure}`];
  }
};
