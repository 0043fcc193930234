import { mayBeRefused, mustBeRefused, type BankList } from '../bank-lists.ts';
import type { Process, Serving } from '../history.ts';
import {
  expiryMs,
  lastAskedMs,
  nameOf,
  SECOND,
  windowMs,
  type Check,
  type Timeline,
} from './timeline.ts';

// What a process serves after what.

type ServedList = Serving & { readonly list: BankList };

/** What each process served, without a gap. */
function* stretches({ processes, servingsOf }: Timeline): Iterable<[Process, ServedList[]]> {
  for (const process of processes) {
    let served: ServedList[] = [];
    for (const { list, ...serving } of servingsOf(process)) {
      if (!list && served.length > 0) yield [process, served];
      if (list) served.push({ ...serving, list });
      else served = [];
    }
    yield [process, served];
  }
}

export const isServedUntilItIsTooOld: Check = function* (timeline) {
  for (const process of timeline.processes)
    for (const [index, { list, fromMs, untilMs }] of timeline.servingsOf(process).entries()) {
      const next = timeline.servingsOf(process)[index + 1];
      if (!list || !next || next.list || !timeline.isAgeKnown(list, untilMs)) continue;
      const askedAtMs = timeline.askedMsOf(process, list, fromMs);
      const earlyMs = askedAtMs + process.ttlMs + process.maxStaleMs - next.fromMs;
      if (earlyMs > 3 * SECOND)
        yield [next.fromMs, process, `no longer serves ${nameOf(list)}, ${earlyMs} ms too early`];
    }
};

export const nothingTooOldIsServed: Check = function* (timeline) {
  for (const { process, endedAtMs: atMs = 0, list } of timeline.visits) {
    if (!list || !timeline.isAgeKnown(list, atMs)) continue;
    const lateMs = atMs - expiryMs(process, list, atMs);
    if (lateMs > process.timeoutMs + SECOND)
      yield [atMs, process, `serves ${nameOf(list)}, ${lateMs} ms too old`];
  }
};

export const agesAreTrue: Check = function* (timeline) {
  const tolerance = 3 * SECOND;
  for (const { process, endedAtMs: atMs = 0, list, ageMs } of timeline.visits) {
    if (!list || ageMs === undefined || !timeline.isAgeKnown(list, atMs)) continue;
    // Measured from the call at the earliest, from its answer at the latest.
    const least = atMs - lastAskedMs(list, atMs) - process.timeoutMs - tolerance;
    const most = atMs - (list.askedAtMs[0] ?? 0) + tolerance;
    if (ageMs < least || ageMs > most)
      yield [
        atMs,
        process,
        `says ${ageMs} ms, not between ${least} and ${most}, of ${nameOf(list)}`,
      ];
  }
};

export const neverBackToWhatWasBefore: Check = function* (timeline) {
  for (const [process, served] of stretches(timeline))
    for (const [index, { list: after, fromMs: atMs }] of served.entries()) {
      const before = served[index - 1]?.list;
      if (!before || timeline.isLater(after, before, atMs) !== false) continue;
      // What a process had saved before it was started, and what it made of that alone, has no say
      // beside the others' list.
      const isRestored = served
        .slice(0, index)
        .every(
          ({ list }) =>
            lastAskedMs(list, atMs) < process.startedAtMs ||
            timeline.calls.some((call) => call.list === list && call.process === process),
        );
      const isOver =
        expiryMs(process, before, atMs) < atMs ||
        timeline.isOverElsewhere(process, before, atMs) ||
        !timeline.isAgeKnown(before, atMs);
      // A list that was loaded without knowing of the others' is measured by theirs.
      const isRefused = timeline.mayGuardRefuse(process, before, atMs, (other) =>
        timeline.servingsOf(other).some(({ list, fromMs }) => list === after && fromMs <= atMs),
      );
      if ((timeline.hasSnapshot && isRestored) || isOver || isRefused) continue;
      yield [atMs, process, `replaces ${nameOf(before)} by ${nameOf(after)}`];
    }
};

export const theGuardHolds: Check = function* (timeline) {
  for (const [process, served] of stretches(timeline)) {
    let measures: ServedList[] = [];
    for (const [index, serving] of served.entries()) {
      const { list: after, fromMs: atMs } = serving;
      const sinceMs = atMs - windowMs(process);
      const before = served[index - 1]?.list;
      const against = measures.filter(
        ({ list: { shape }, untilMs }) =>
          untilMs >= sinceMs && shape !== after.shape && mustBeRefused(shape, after.shape),
      );
      if (before && against.length > 0) {
        const isBack = isBackTo(timeline, process, after, atMs);
        const measure = against.find(
          ({ list, untilMs }) =>
            expiryMs(process, list, untilMs) >= untilMs &&
            (whereLoaded(timeline, list, after, atMs)?.untilMs ?? Infinity) >= sinceMs &&
            !timeline.isOverElsewhere(process, list, atMs) &&
            !isAcceptedAfter(timeline, process, list, after, atMs) &&
            !mayWinAnyway(timeline, process, list, after, atMs),
        );
        if (measure && !isBack && timeline.isAgeKnown(before, atMs))
          yield [atMs, process, `takes ${nameOf(after)} after ${nameOf(measure.list)}`];
        // Whatever the reason is: the list that is taken is the measure of the next one. What was
        // served before the list that has come back goes on to count.
        const first = isBack ? measures.findIndex(({ list }) => list === after) : 0;
        measures = measures.slice(0, Math.max(0, first));
      }
      // With the list of another history, the lists before it are remembered instead of these.
      if (before && !whereLoaded(timeline, before, after, atMs)) measures = [];
      measures.push(serving);
    }
  }
};

/**
 * What the process that loaded `after` had served until then, of the list `list`; undefined if it
 * never had it.
 */
const whereLoaded = (
  { calls, servingsOf }: Timeline,
  list: BankList,
  after: BankList,
  atMs: number,
): Serving | undefined => {
  const load = calls.findLast((call) => call.list === after && call.deliveredAtMs <= atMs);
  const served = load ? servingsOf(load.process) : [];
  return served.findLast((serving) => serving.list === list && serving.fromMs <= atMs);
};

/**
 * Whether the fleet held this very list before: what a replica remembers, others and restarts know.
 */
const isBackTo = (timeline: Timeline, process: Process, list: BankList, atMs: number): boolean =>
  timeline.servings.some(
    (held) =>
      held.list === list &&
      held.process.fields === process.fields &&
      held.untilMs >= atMs - windowMs(process) &&
      timeline.calls.some(
        (call) =>
          call.list === list && call.deliveredAtMs > held.fromMs && call.deliveredAtMs <= atMs,
      ),
  );

/** Whether an operator has accepted `after`, or one before it, since `list` was loaded. */
const isAcceptedAfter = (
  timeline: Timeline,
  process: Process,
  list: BankList,
  after: BankList,
  atMs: number,
): boolean => {
  const decision = timeline.decisionOf(after);
  return timeline.everyAnswerDiffers
    ? decision !== undefined && decision !== timeline.decisionOf(list)
    : timeline.refreshes.some(
        ({ accepts, atMs: acceptedAtMs, process: { fields } }) =>
          accepts &&
          fields === process.fields &&
          acceptedAtMs <= atMs &&
          acceptedAtMs >= atMs - windowMs(process),
      );
};

/**
 * Where two histories meet, and the guard would refuse either list beside the other, the youngest
 * goes on; and what a process had saved before it was started has no say beside the others' list.
 */
const mayWinAnyway = (
  timeline: Timeline,
  process: Process,
  list: BankList,
  after: BankList,
  atMs: number,
): boolean => {
  const loads = timeline.calls.filter((call) => call.list === after);
  // What was refused here may come from another replica, and look the same.
  const mayBeAnothers =
    !loads.some((call) => call.process === process) ||
    (!timeline.everyAnswerDiffers && loads.some((call) => call.process !== process));
  const isRestored = timeline.hasSnapshot && lastAskedMs(list, atMs) < process.startedAtMs;
  return mayBeAnothers && (isRestored || mayBeRefused(after.shape, list.shape));
};

export const aRestartServesWhatWasSaved: Check = function* (timeline) {
  if (!timeline.hasSnapshot) return;
  for (const process of timeline.processes) {
    const { index, startedAtMs, readyAtMs } = process;
    const last = timeline.processes.findLast(
      (other) => other.index === index && other.startedAtMs < startedAtMs,
    );
    const saved = last && timeline.servingsOf(last).at(-1);
    if (
      !saved?.list ||
      !last ||
      saved.fromMs > last.endedAtMs - 5 * SECOND ||
      readyAtMs === Infinity
    )
      continue;
    if (timeline.troubled(['disk'], index, saved.fromMs - SECOND, readyAtMs)) continue;
    if (timeline.troubled(['sleep'], index, saved.fromMs, readyAtMs)) continue;
    const askedAtMs = timeline.askedMsOf(last, saved.list, readyAtMs);
    if (!timeline.isAgeKnown(saved.list, readyAtMs, askedAtMs)) continue;
    if (askedAtMs + process.ttlMs + process.maxStaleMs < readyAtMs + 5 * SECOND) continue;
    // Its age has only the wall clock: what Redis never had has no say beside what it has.
    if (timeline.hasRedis && !timeline.writes.some(({ call }) => call.list === saved.list))
      continue;
    const list = timeline.listAt(process, readyAtMs);
    if (!list || timeline.isLater(list, saved.list, readyAtMs) === false)
      yield [readyAtMs, process, `has saved ${nameOf(saved.list)}, and serves ${nameOf(list)}`];
  }
};
