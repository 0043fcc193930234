import { FIELDS } from '../bank-lists.ts';
import type { Call, Process } from '../history.ts';
import {
  HOUR,
  lastAskedMs,
  lifeMs,
  nameOf,
  longestRetryMs,
  MINUTE,
  placeOf,
  SECOND,
  SETTLED_MS,
  STORE,
  type Check,
  type Timeline,
} from './timeline.ts';

// When the provider is called.

/** A process gives up a call after PROVIDER_TIMEOUT, and an operator's with all of its repeats. */
export const endOf = ({ refreshes }: Timeline, { endedAtMs, askedAtMs, process }: Call): number => {
  const answeredAtMs = refreshes
    .filter((refresh) => refresh.process === process && refresh.atMs <= askedAtMs)
    .map((refresh) => refresh.endedAtMs ?? Infinity)
    .filter((atMs) => atMs >= askedAtMs);
  return Math.min(endedAtMs, askedAtMs + process.timeoutMs, ...answeredAtMs);
};

const fleets = ({ calls }: Timeline): Call[][] =>
  FIELDS.map((fields) => calls.filter(({ process }) => process.fields === fields));

export const oneCallAtATime: Check = function* (timeline) {
  for (const calls of fleets(timeline))
    for (const [index, call] of calls.entries()) {
      const { process, askedAtMs } = call;
      if (timeline.troubled(['sleep'], 'all', askedAtMs - HOUR, askedAtMs)) continue;
      for (const other of calls.slice(Math.max(0, index - 10), index)) {
        if (endOf(timeline, other) <= askedAtMs) continue;
        // A lease ends by the clock of Redis.
        if (timeline.troubled(['redis clock'], 'all', other.askedAtMs, askedAtMs)) continue;
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
        // A list ends it that was asked for after it.
        if (call.askedAtMs > endedAtMs && call.deliveredAtMs < Infinity) break;
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
        // How long a list of unknown age may be served, nobody knew then.
        const held = timeline.listAt(process, endedAtMs);
        const limitMs =
          held && call.hadList && timeline.isAgeKnown(process, held, endedAtMs)
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

export const retriesBackOff: Check = function* (timeline) {
  if (timeline.hasRedis) return;
  for (const process of timeline.processes) {
    let failures = 0;
    for (const [index, call] of timeline.callsOf(process).entries()) {
      const next = timeline.callsOf(process)[index + 1];
      failures = timeline.wasTaken(call) ? 0 : failures + 1;
      if (!next || next.isForced || call.retryAfterMs !== undefined) continue;
      // What the guard has refused is asked for again once there is nothing to compare it with.
      const isStillRefused = isRefused(timeline, call) && timeline.listAt(process, next.askedAtMs);
      if (!call.failure && !isStillRefused) continue;
      const fromMs = Math.min(call.endedAtMs, call.askedAtMs + process.timeoutMs);
      const waitMs = next.askedAtMs - fromMs;
      const isKnown = timeline.ranThrough(process, call.askedAtMs, next.askedAtMs);
      const isAsked = timeline.postponed.some(({ process: asked }) => asked === process);
      const [least, most] = [SECOND, 2 ** failures * SECOND].map((ms) =>
        Math.min(ms, longestRetryMs(process)),
      );
      if (isKnown && !isAsked && (waitMs < (least ?? 0) - 50 || waitMs > (most ?? 0) + 50))
        yield [next.askedAtMs, process, `waits ${waitMs} ms after failure ${failures}`];
    }
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
      if (next > limitMs && !isFresh && !others(timeline, calls, call, limitMs))
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
      if (!isShaken && !isCalled && !others(timeline, calls, last, limitMs))
        yield [limitMs, process, `has not called since ${nameOf(list)} is over`];
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
      if (!isAlone || !waits || next <= untilMs || others(timeline, calls, call, untilMs)) continue;
      const isShaken =
        !timeline.hasRedis ||
        timeline.troubled(['sleep'], 'all', askedAtMs, untilMs) ||
        timeline.troubled(['redis'], 'all', askedAtMs - SETTLED_MS, untilMs) ||
        timeline.troubled(['silent redis'], 'all', askedAtMs, untilMs);
      if (!isShaken) yield [untilMs, process, `has stopped, and nobody has called since`];
    }
};

/** Whether somebody else's Retry-After is still in force. */
const others = (timeline: Timeline, calls: readonly Call[], than: Call, atMs: number): boolean =>
  calls.some(
    (call) =>
      call !== than &&
      call.retryAfterMs !== undefined &&
      call.askedAtMs < atMs &&
      timeline.leaveAloneUntilMs(call) > atMs,
  );
