import type { Process } from '../history.ts';
import { lastAskedMs, nameOf, SECOND, MINUTE, type Check, type Timeline } from './timeline.ts';

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
        const isOld = atMs - lastAskedMs(theirs, atMs) > process.ttlMs + process.maxStaleMs - SOON;
        const isNew =
          timeline.listAt(other, atMs - SOON) !== theirs ||
          timeline.listAt(process, atMs - SOON) !== mine;
        if (!isOld && !isNew && timeline.isAgeKnown(theirs, atMs))
          yield [atMs, process, `serves ${nameOf(mine)}, ${other.name} ${nameOf(theirs)}`];
      }
  }
};

export const okMeansThatItIsShared: Check = function* (timeline) {
  for (const { process, atMs, endedAtMs, answer } of timeline.refreshes) {
    if (answer !== 'ok' || endedAtMs === undefined) continue;
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
  for (const { process, atMs, endedAtMs = Infinity, answer } of timeline.refreshes) {
    const limitMs = 8 * process.timeoutMs + 10 * SECOND;
    if (
      endedAtMs - atMs > limitMs &&
      timeline.ranThrough(process, atMs, Math.min(endedAtMs, atMs + limitMs))
    )
      yield [atMs, process, `has not answered a refresh after ${limitMs} ms`];
    if (answer === 'internal') yield [endedAtMs, process, `answers internal to a refresh`];
  }
};
