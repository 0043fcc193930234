import { HOUR, MINUTE, SECOND } from '../durations.ts';
import {
  endOf,
  fleets,
  isPostponedByAnother,
  lastAskedMs,
  lifeMs,
  nameOf,
  placeOf,
  SETTLED_MS,
  STORE,
  type Check,
} from './timeline.ts';

// When the provider is called.

export const oneCallAtATime: Check = function* (timeline) {
  for (const calls of fleets(timeline))
    for (const [index, call] of calls.entries()) {
      const { process, askedAtMs } = call;
      if (timeline.troubled(['sleep'], 'all', askedAtMs - HOUR, askedAtMs)) continue;
      for (const other of calls.slice(Math.max(0, index - 10), index)) {
        if (endOf(timeline, other) <= askedAtMs) continue;
        // A lease ends by the clock of Redis. It is claimed shortly before the call.
        const claimedMs = other.askedAtMs - SECOND;
        if (timeline.troubled(['redis clock'], 'all', claimedMs, askedAtMs)) continue;
        const isShared = [process, other.process].every((each) =>
          timeline.isConnected(each, other.askedAtMs - SETTLED_MS, askedAtMs),
        );
        // With nothing to serve, a replica does not wait for all of another one's call.
        if (
          other.process === process ||
          (isShared && call.hadList && !call.isForced && !other.isForced)
        )
          yield [askedAtMs, process, `calls while ${placeOf(other)} does`];
      }
    }
};

/** It calls itself after half of PROVIDER_TIMEOUT. */
export const nobodyWaitsForAllOfALoad: Check = function* (timeline) {
  for (const calls of fleets(timeline))
    for (const call of calls)
      for (const process of timeline.othersOf(call.process)) {
        const fromMs = Math.max(call.askedAtMs, process.readyAtMs);
        const limitMs = fromMs + process.timeoutMs / 2 + SECOND;
        if (endOf(timeline, call) <= limitMs) continue;
        // After a failure they wait for longer, and what another one gets comes to all.
        const hasOther = calls.some(
          (other) =>
            other !== call &&
            other.askedAtMs <= limitMs &&
            (!other.list || (other.process !== process && other.endedAtMs >= fromMs)),
        );
        if (hasOther) continue;
        if (!timeline.ranThrough(process, fromMs, limitMs)) continue;
        if (timeline.listAt(process, fromMs) || timeline.listAt(process, limitMs)) continue;
        const isCalling = timeline
          .callsOf(process)
          .some(({ askedAtMs, endedAtMs }) => askedAtMs <= limitMs && endedAtMs >= fromMs);
        if (!isCalling) yield [limitMs, process, `has not called since ${placeOf(call)}`];
      }
};

/** Of CACHE_TTL: the latest moment of a renewal. */
const LATEST = 0.998;
/** What it takes to find that a renewal is due, and to claim it in Redis. */
const CLAIMED_MS = 0.7 * SECOND;
const NOTICED_MS = 50;

/**
 * The age of a list decides when it is renewed, not when this process got it. Whoever has called
 * since the list was asked for had a failure, which is repeated later, or a list that was refused.
 */
export const aListIsRenewedAheadOfItsExpiry: Check = function* (timeline) {
  if (!timeline.everyAnswerDiffers) return;
  for (const process of timeline.processes)
    for (const { list, fromMs, untilMs } of timeline.servingsOf(process)) {
      const load = list && timeline.calls.find((call) => call.list === list);
      if (!load) continue;
      const dueMs = Math.max(
        load.deliveredAtMs + LATEST * process.ttlMs,
        fromMs,
        process.readyAtMs,
      );
      // Of those that share a list, one that loads, and cannot, is waited for.
      const isShaken = timeline.hasRedis
        ? timeline.troubled(
            [...STORE, 'redis clock', 'process', 'sleep', 'clock'],
            'all',
            dueMs - 2 * MINUTE,
            dueMs + 3 * SECOND,
          )
        : timeline.troubled(['sleep', 'clock'], process.index, dueMs - MINUTE, dueMs + 3 * SECOND);
      const calmMs = timeline.hasRedis ? CLAIMED_MS : NOTICED_MS;
      const limitMs = dueMs + (isShaken ? MINUTE + SETTLED_MS : calmMs);
      if (untilMs < limitMs || limitMs > timeline.endedAtMs) continue;
      if (!timeline.ranThrough(process, Math.max(fromMs, process.readyAtMs), limitMs)) continue;
      const isCalled = timeline.calls.some(
        (call) =>
          call !== load &&
          call.endedAtMs >= load.askedAtMs &&
          call.askedAtMs <= limitMs &&
          (timeline.hasRedis ? call.process.fields === process.fields : call.process === process),
      );
      const isPostponed = timeline.postponed.some(
        (call) => call.askedAtMs <= limitMs && timeline.leaveAloneUntilMs(call) >= dueMs,
      );
      if (!isCalled && !isPostponed && timeline.isAgeKnown(process, list, limitMs))
        yield [limitMs, process, `has not renewed ${nameOf(list)}`];
    }
};

/** Renewals begin ahead of the expiry, but not before this share of CACHE_TTL. */
const EARLIEST = 0.7;

export const nobodyCallsWhileTheListIsFresh: Check = function* (timeline) {
  for (const calls of fleets(timeline))
    for (const [index, { process, askedAtMs, isForced }] of calls.entries()) {
      const list = timeline.listAt(process, askedAtMs);
      const earliestMs = EARLIEST * process.ttlMs;
      if (isForced || !list || askedAtMs - lastAskedMs(list, askedAtMs - 1) >= earliestMs) continue;
      // Where lists look alike, only its own loads tell a process how old its list is.
      const found = calls.findLast(
        (call) =>
          call.list === list &&
          call.deliveredAtMs < askedAtMs &&
          (timeline.everyAnswerDiffers || (call.process === process && timeline.wasTaken(call))),
      );
      const sinceMs = found?.askedAtMs ?? -Infinity;
      if (askedAtMs - sinceMs >= earliestMs || !timeline.isAgeKnown(process, list, askedAtMs))
        continue;
      // A list that looks the same may have come to a replica that could not share it.
      const fromMs = Math.min(sinceMs, askedAtMs - HOUR);
      const isShared =
        !timeline.troubled(
          STORE,
          process.index,
          Math.max(fromMs, process.startedAtMs) - SETTLED_MS,
          askedAtMs,
        ) &&
        calls
          .filter((call) => call.askedAtMs >= fromMs && call.askedAtMs <= askedAtMs)
          .every((call) =>
            timeline.isConnected(
              call.process,
              Math.max(fromMs, call.process.readyAtMs),
              Math.min(askedAtMs, call.endedAtMs + SECOND),
            ),
          );
      if (!timeline.everyAnswerDiffers && !isShared) continue;
      // A failure is read by the others a little later. Where lists look alike, the call that failed
      // may seem to have brought the list.
      const slackMs = timeline.everyAnswerDiffers ? SECOND : MINUTE;
      const isExcused =
        timeline.troubled(['clock'], process.index, sinceMs, askedAtMs) ||
        // A failure that another replica had just before is still to be repeated, also of a load
        // during which it slept.
        timeline.troubles.some(
          ({ kind, untilMs }) =>
            kind === 'sleep' && untilMs <= askedAtMs && untilMs >= askedAtMs - MINUTE,
        ) ||
        calls.slice(0, index).some((call) => call !== found && call.endedAtMs >= sinceMs - slackMs);
      if (!isExcused)
        yield [askedAtMs, process, `calls ${askedAtMs - sinceMs} ms after ${nameOf(list)}`];
    }
};

export const aStartTakesTheSharedList: Check = function* (timeline) {
  for (const process of timeline.processes) {
    const { index, fields, startedAtMs, readyAtMs } = process;
    const fromMs = startedAtMs - SETTLED_MS;
    const write = timeline.writes.findLast(
      ({ atMs, call }) => atMs < fromMs && call.process.fields === fields,
    );
    if (!write?.call.list || readyAtMs === Infinity || timeline.listAt(process, readyAtMs))
      continue;
    const isShaken =
      timeline.troubled(STORE, 'all', write.atMs, readyAtMs) ||
      timeline.troubled(['sleep'], index, fromMs, readyAtMs);
    const ageMs = readyAtMs - write.call.askedAtMs;
    const longestMs = Math.min(lifeMs(process), lifeMs(write.call.process)) - 5 * SECOND;
    if (!isShaken && ageMs < longestMs && timeline.isAgeKnown(process, write.call.list, readyAtMs))
      yield [readyAtMs, process, `has no list, and Redis has one of ${ageMs} ms`];
  }
};

export const aFleetMakesOneCallPerTtl: Check = function* (timeline) {
  const isCalm = !timeline.troubled(['provider', 'list', 'clock'], 'all', 0, timeline.endedAtMs);
  if (!isCalm || !timeline.everyAnswerDiffers || timeline.refreshes.length > 0) return;
  for (const calls of fleets(timeline)) {
    // Ages of the lists that were renewed without a reason but their age, in CACHE_TTLs.
    const ages = calls.flatMap(({ process, askedAtMs, isForced }) => {
      const list = timeline.listAt(process, askedAtMs);
      return isForced || !list || !timeline.isAgeKnown(process, list, askedAtMs)
        ? []
        : Math.min(1, (askedAtMs - lastAskedMs(list, askedAtMs - 1)) / process.ttlMs);
    });
    const mean = ages.reduce((sum, age) => sum + age, 0) / ages.length;
    const last = calls.at(-1);
    if (last && ages.length >= 20 && mean < 1 / 1.1)
      yield [last.askedAtMs, last.process, `has renewed lists after ${mean} CACHE_TTL on average`];
  }
};

/** Longer than a stop, a message and a claim take where Redis works. */
const LEFT_MS = 0.8 * SECOND;

export const aStopLeavesTheLoadToTheOthers: Check = function* (timeline) {
  for (const calls of fleets(timeline))
    for (const call of calls) {
      const { process, askedAtMs, isForced, retryAfterMs } = call;
      const stoppedAtMs = process.endedAtMs;
      const untilMs = stoppedAtMs + LEFT_MS;
      const isStopped =
        stoppedAtMs > askedAtMs && stoppedAtMs <= call.endedAtMs && process.killedAtMs > untilMs;
      if (!isStopped || isForced || retryAfterMs !== undefined || call.list) continue;
      // Who has just heard of a failure plans its own attempt.
      const isAlone = !calls.some(
        (other) =>
          other !== call &&
          other.askedAtMs <= stoppedAtMs &&
          other.endedAtMs >= askedAtMs - (other.list ? SECOND : 2 * MINUTE),
      );
      const waits = timeline
        .othersOf(process)
        .some(
          (other) =>
            timeline.ranThrough(other, stoppedAtMs, untilMs) &&
            !timeline.listAt(other, stoppedAtMs) &&
            !timeline.listAt(other, untilMs),
        );
      const next = calls.find((other) => other.askedAtMs > stoppedAtMs)?.askedAtMs ?? Infinity;
      if (
        !isAlone ||
        !waits ||
        next <= untilMs ||
        isPostponedByAnother(timeline, calls, call, untilMs)
      )
        continue;
      const isShaken =
        !timeline.hasRedis ||
        timeline.troubled(['sleep'], 'all', askedAtMs, untilMs) ||
        timeline.troubled(['redis'], 'all', askedAtMs - SETTLED_MS, untilMs) ||
        timeline.troubled(['silent redis'], 'all', askedAtMs, untilMs);
      if (!isShaken) yield [untilMs, process, `has stopped, and nobody has called since`];
    }
};
