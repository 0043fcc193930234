import { OVERRIDABLE } from '../../../src/banks/guard/guard.ts';
import { FIELDS } from '../bank-lists.ts';
import { MINUTE, SECOND } from '../durations.ts';
import type { Call, Process } from '../history.ts';
import {
  lastAskedMs,
  lifeMs,
  nameOf,
  placeOf,
  reportsOfStore,
  STORE,
  type Check,
  type Timeline,
} from './timeline.ts';

// What the replicas have in common, and what an operator is told of it.

/** Agreed within seconds, or, where nothing tells that something went wrong, within a minute. */
const SECONDS = 15 * SECOND;
const A_MINUTE = MINUTE + SECONDS;
/** What one replica takes, the others have soon after, also if it dies before it can tell them. */
const SOON = 6 * SECOND;

/**
 * Whether the replicas of two processes have had time to agree since something was wrong with Redis
 * or with them.
 */
const mustAgree = (timeline: Timeline, a: Process, b: Process, atMs: number): boolean =>
  [a, b].every(
    (process) =>
      timeline.hasRedis &&
      timeline.ranThrough(process, atMs - SECONDS, atMs) &&
      !timeline.troubled(['redis'], process.index, atMs - SECONDS, atMs) &&
      !timeline.troubled(['silent redis'], process.index, atMs - A_MINUTE, atMs),
  );

export const allServeTheSame: Check = function* (timeline) {
  const { troubles, servings, processes, endedAtMs } = timeline;
  const moments = new Set([
    ...servings.map(({ fromMs }) => fromMs + SOON),
    ...troubles.flatMap(({ untilMs }) => [untilMs + SECONDS + 1, untilMs + A_MINUTE + 1]),
    endedAtMs,
  ]);
  for (const atMs of moments) {
    if (atMs > endedAtMs) continue;
    for (const process of processes)
      for (const other of timeline.othersOf(process)) {
        const [mine, theirs] = [timeline.listAt(process, atMs), timeline.listAt(other, atMs)];
        if (!theirs || mine === theirs || !mustAgree(timeline, process, other, atMs)) continue;
        // Too old for one of them is not yet too old for another.
        const askedAtMs = mine
          ? lastAskedMs(theirs, atMs)
          : timeline.askedMsOf(process, theirs, atMs);
        const isOld = atMs - askedAtMs > lifeMs(process) - SOON;
        // Also where it looks like the one before the last.
        const isNew = [process, other].some((each) =>
          timeline.servingsOf(each).some(({ fromMs }) => fromMs > atMs - SOON && fromMs <= atMs),
        );
        if (!isOld && !isNew && timeline.isAgeKnown(process, theirs, atMs))
          yield [atMs, process, `serves ${nameOf(mine)}, ${other.name} ${nameOf(theirs)}`];
      }
  }
};

export const noListIsWrittenOverOneThatItsWriterDidNotKnow: Check = function* (timeline) {
  if (!timeline.everyAnswerDiffers) return;
  for (const fields of FIELDS) {
    const writes = timeline.writes.filter(({ call }) => call.process.fields === fields);
    for (const [index, { atMs, call }] of writes.entries()) {
      const before = writes[index - 1];
      if (!before || before.call === call || call.askedAtMs >= before.atMs) continue;
      // A first list is compared with the one that is there when it has come.
      const isFirst = !call.hadList;
      const fromMs = Math.min(before.call.askedAtMs, call.askedAtMs) - SECONDS;
      // Who cannot tell what Redis has made of its list keeps that list until it can. By a clock of
      // Redis that was set while it was written, a list may be too old to count.
      const isShaken =
        timeline.troubled([...STORE, 'redis clock'], 'all', fromMs, atMs) ||
        timeline.troubled(['sleep'], call.process.index, fromMs, atMs);
      if (!isFirst && !isShaken)
        yield [
          atMs,
          call.process,
          `has Redis replace ${nameOf(before.call.list)}, which came since`,
        ];
    }
  }
};

/** By each replica: the README of the sharing. */
const MOST_REPLACED = 8;

/** Others may be able to read it, and write it again. */
export const damagedListsAreReplacedSparingly: Check = function* ({ writes }) {
  for (const [index, { atMs, call, writer }] of writes.entries()) {
    const same = writes
      .slice(0, index)
      .filter((write) => write.call === call && write.writer === writer);
    // The first one replaced nothing that was damaged.
    const from = same.length > MOST_REPLACED ? same.at(-MOST_REPLACED) : undefined;
    if (from && atMs - from.atMs < MINUTE - SECOND)
      yield [atMs, writer, `writes ${nameOf(call.list)} ${MOST_REPLACED + 1} times in a minute`];
  }
};

/** Where some replica has a list: it finds the damage itself, or whoever does asks for its list. */
export const damageIsMended: Check = function* (timeline) {
  const { troubles, processes, othersOf, listAt, isConnected } = timeline;
  for (const { what, fromMs } of troubles) {
    const atMs = fromMs + A_MINUTE;
    if (what !== 'spoilt' || atMs > timeline.endedAtMs) continue;
    // The moment of the damage itself is not counted.
    const isSteady = (process: Process): boolean => isConnected(process, fromMs + 1, atMs);
    for (const process of processes.filter(isSteady)) {
      const last = reportsOfStore(timeline, process, 'CACHE_REDIS_URL').findLast(
        (report) => report.atMs <= atMs,
      );
      const isDamaged =
        last?.event.type === 'store-failed' && last.event.reason.endsWith('ignored');
      const hasList = [process, ...othersOf(process)].some(
        (each) => isSteady(each) && listAt(each, fromMs) && listAt(each, atMs),
      );
      if (isDamaged && hasList)
        yield [atMs, process, `says for a minute that Redis ${last.event.reason}`];
    }
  }
};

/** What a process had saved before it was started gives way to what Redis has. */
export const aSnapshotGivesWay: Check = function* (timeline) {
  if (!timeline.everyAnswerDiffers) return;
  for (const fields of FIELDS) {
    const writes = timeline.writes.filter(({ call }) => call.process.fields === fields);
    for (const [index, { atMs, call, writer }] of writes.entries()) {
      const before = writes[index - 1];
      const { list } = call;
      const isRestored = call.askedAtMs < writer.startedAtMs;
      if (!before || !list || !isRestored) continue;
      if (before.call.askedAtMs < call.askedAtMs + SECONDS) continue;
      // Redis may have lost what was written before, and what it has may be too old or unreadable.
      const isGone =
        timeline.troubled(STORE, writer.index, before.atMs, atMs) ||
        !timeline.isAgeKnown(writer, list, atMs);
      if (!isGone) yield [atMs, writer, `writes ${nameOf(list)} over ${nameOf(before.call.list)}`];
    }
  }
};

/** What cuts a replica off from Redis, in both directions. */
const CUTS = ['refuses connections', 'answers nothing'];

/**
 * Also where it is the younger one: a list that was loaded while its replica could not know of the
 * one in Redis does not follow that one.
 */
export const aSnapshotThatFollowsNothingGivesWay: Check = function* (timeline) {
  if (!timeline.everyAnswerDiffers) return;
  for (const { atMs, call, writer } of timeline.writes) {
    const { list, process: loader } = call;
    const { fields } = writer;
    if (!list || call.askedAtMs >= writer.startedAtMs || loader.index !== writer.index) continue;
    const before = timeline.writes.findLast(
      (write) => write.atMs < atMs && write.call.process.fields === fields,
    );
    if (!before || before.call === call || before.writer.index === writer.index) continue;
    // Nothing has happened to Redis since, and the loader was cut off from then on to its end.
    const isKept = !timeline.troubles.some(
      ({ kind, fromMs }) =>
        STORE.some((store) => store === kind) && fromMs >= before.atMs && fromMs <= atMs,
    );
    const isCutOff = timeline.troubles.some(
      ({ what = '', who, fromMs, untilMs }) =>
        CUTS.includes(what) &&
        who === writer.index &&
        fromMs < before.atMs - SECOND &&
        untilMs >= loader.killedAtMs,
    );
    const isOver = lastAskedMs(before.call.list ?? list, atMs) + lifeMs(writer) < atMs + SECOND;
    if (isKept && isCutOff && !isOver && timeline.isAgeKnown(writer, list, atMs))
      yield [atMs, writer, `writes ${nameOf(list)} over ${nameOf(before.call.list)}`];
  }
};

export const okMeansThatItIsShared: Check = function* (timeline) {
  for (const { process, atMs, endedAtMs, answer } of timeline.refreshes) {
    if (endedAtMs === undefined) continue;
    const mayShare =
      timeline.isConnected(process, atMs - SECONDS, endedAtMs) &&
      !timeline.troubled(STORE, 'all', atMs - SECONDS, endedAtMs);
    // Of lists that nobody can read, only a few are replaced in a minute.
    const wasSpoilt = timeline.wasSpoilt(atMs - A_MINUTE, endedAtMs);
    if (answer === 'not shared' && mayShare && !wasSpoilt)
      yield [endedAtMs, process, `says that a refresh is not shared, and Redis works`];
    if (answer !== 'ok') continue;
    // What was loaded before a sleep may be over after it.
    if (timeline.troubled(['sleep'], process.index, atMs, endedAtMs)) continue;
    const list = timeline.listAt(process, endedAtMs);
    if (!list || lastAskedMs(list, endedAtMs) < atMs)
      yield [endedAtMs, process, `says ok to a refresh of ${atMs}, and serves ${nameOf(list)}`];
    const isShared = timeline.writes.some(
      (write) =>
        write.call.askedAtMs >= atMs &&
        write.atMs <= endedAtMs &&
        write.call.process.fields === process.fields,
    );
    if (timeline.hasRedis && timeline.everyAnswerDiffers && !isShared)
      yield [endedAtMs, process, `says ok to a refresh, and Redis has nothing of it`];
  }
};

export const aRefreshIsAnswered: Check = function* (timeline) {
  for (const { process, atMs, endedAtMs = Infinity, answer, accepts } of timeline.refreshes) {
    const limitMs = 8 * process.timeoutMs + 10 * SECOND;
    if (timeline.isUnanswered(process, atMs, limitMs, endedAtMs))
      yield [atMs, process, `has not answered a refresh`];
    if (answer === undefined) continue;
    if (OVERRIDABLE.some((reason) => answer === reason && accepts.includes(reason)))
      yield [endedAtMs, process, `refuses as ${answer} what is accepted as that`];
    const isLoaded = timeline
      .callsOf(process)
      .some(({ askedAtMs }) => askedAtMs >= atMs && askedAtMs <= endedAtMs);
    // Without a token no call is made.
    if (answer === 'no_token') continue;
    if (!isLoaded && process.endedAtMs > endedAtMs)
      yield [endedAtMs, process, `answers ${answer} to a refresh, and has not called`];
    if (answer === 'ok' || answer === 'not shared') continue;
    // The last of what was asked for an operator tells why there is no list.
    const isTrue = timeline.calls.some(
      (call) =>
        call.process === process &&
        call.askedAtMs <= endedAtMs &&
        call.endedAtMs >= atMs &&
        (call.failure === answer || (GUARDED.includes(answer) && call.list)),
    );
    if (!isTrue && process.endedAtMs > endedAtMs && answer !== 'timeout')
      yield [endedAtMs, process, `answers ${answer} to a refresh`];
  }
};

/** However often other replicas overtake it. */
export const aRefreshTakesTheTimeOfOneLoad: Check = function* (timeline) {
  for (const process of timeline.processes) {
    const answered = timeline.refreshes.filter((refresh) => refresh.process === process);
    let first: Call | undefined;
    for (const call of timeline.callsOf(process).filter(({ isForced }) => isForced)) {
      const { askedAtMs } = call;
      const startedAtMs = first?.askedAtMs ?? Infinity;
      const isAnother = answered.some(
        ({ endedAtMs = Infinity }) => endedAtMs >= startedAtMs && endedAtMs <= askedAtMs,
      );
      if (!first || isAnother) first = call;
      const tookMs = askedAtMs - first.askedAtMs;
      const isShaken = timeline.troubled(['sleep'], process.index, first.askedAtMs, askedAtMs);
      // A load of the replica itself may have been under way first.
      if (tookMs > 2 * process.timeoutMs && !isShaken)
        yield [askedAtMs, process, `calls for an operator ${tookMs} ms after ${placeOf(first)}`];
    }
  }
};

/** Why a list may not be taken that arrived whole. */
const GUARDED: readonly string[] = [...OVERRIDABLE, 'missing_field'];
