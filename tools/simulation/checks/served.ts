import { mayBeRefused, mustBeRefused, type BankList } from '../bank-lists.ts';
import type { Process, Serving } from '../history.ts';
import { lastAskedMs, SECOND, windowMs, type Check, type Timeline } from './timeline.ts';

// What a process serves after what.

/** From a list to the next one of the same process. */
interface Change {
  readonly process: Process;
  readonly atMs: number;
  readonly before: Serving & { readonly list: BankList };
  readonly after: BankList;
  /** What the process has served before, newest first, without a gap. */
  readonly earlier: readonly (Serving & { readonly list: BankList })[];
}

const isList = (serving: Serving | undefined): serving is Serving & { readonly list: BankList } =>
  serving?.list !== undefined;

function* changes({ processes, servingsOf }: Timeline): Iterable<Change> {
  for (const process of processes) {
    let earlier: (Serving & { readonly list: BankList })[] = [];
    for (const serving of servingsOf(process)) {
      const [before] = earlier;
      if (before && isList(serving))
        yield { process, atMs: serving.fromMs, before, after: serving.list, earlier };
      earlier = isList(serving) ? [serving, ...earlier] : [];
    }
  }
}

/** The end of the time in which a list may be served. */
const expiryMs = ({ ttlMs, maxStaleMs }: Process, list: BankList, atMs: number): number =>
  lastAskedMs(list, atMs) + ttlMs + maxStaleMs;

export const isServedUntilItIsTooOld: Check = function* (timeline) {
  for (const process of timeline.processes)
    for (const [index, { list, fromMs, untilMs }] of timeline.servingsOf(process).entries()) {
      const next = timeline.servingsOf(process)[index + 1];
      if (!list || !next || next.list || !timeline.isAgeKnown(list, untilMs)) continue;
      const earlyMs = expiryMs(process, list, fromMs) - next.fromMs;
      if (earlyMs > 3 * SECOND)
        yield `${timeline.at(next.fromMs, process)} no longer serves ${timeline.nameOf(list)}, ${earlyMs} ms too early`;
    }
};

export const nothingTooOldIsServed: Check = function* (timeline) {
  for (const { process, endedAtMs: atMs = 0, list } of timeline.visits) {
    if (!list || !timeline.isAgeKnown(list, atMs)) continue;
    const lateMs = atMs - expiryMs(process, list, atMs);
    if (lateMs > process.timeoutMs + SECOND)
      yield `${timeline.at(atMs, process)} serves ${timeline.nameOf(list)}, ${lateMs} ms too old`;
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
      yield `${timeline.at(atMs, process)} says ${ageMs} ms, not between ${least} and ${most}, of ${timeline.nameOf(list)}`;
  }
};

export const neverBackToWhatWasBefore: Check = function* (timeline) {
  for (const { process, atMs, before, after, earlier } of changes(timeline)) {
    // What a process had saved before it was started, and what it made of that alone, has no say beside the others' list.
    const isRestored = earlier.every(
      ({ list }) =>
        lastAskedMs(list, atMs) < process.startedAtMs ||
        timeline.calls.some((call) => call.list === list && call.process === process),
    );
    const isOver =
      expiryMs(process, before.list, atMs) < atMs || !timeline.isAgeKnown(before.list, atMs);
    // A list that was loaded without knowing of the others' is measured by theirs.
    if (
      (timeline.hasSnapshot && isRestored) ||
      isOver ||
      mayBeRefused(after.shape, before.list.shape)
    )
      continue;
    if (timeline.isLater(after, before.list, atMs) === false)
      yield `${timeline.at(atMs, process)} replaces ${timeline.nameOf(before.list)} by ${timeline.nameOf(after)}`;
  }
};

export const theGuardHolds: Check = function* (timeline) {
  for (const { process, atMs, before, after, earlier } of changes(timeline)) {
    // A replica with a shorter CACHE_TTL has nothing left that its guard could compare with: it takes
    // what there is, and the others follow it.
    const isOver = (list: BankList, untilMs: number): boolean =>
      [process, ...timeline.othersOf(process)].some(
        (each) => each.startedAtMs <= untilMs && expiryMs(each, list, untilMs) < untilMs,
      );
    if (isOver(before.list, atMs) || !timeline.isAgeKnown(before.list, atMs)) continue;
    const sinceMs = atMs - windowMs(process);
    const decision = timeline.decisionOf(after);
    const isAccepted = timeline.everyAnswerDiffers
      ? (list: BankList): boolean =>
          decision !== undefined && decision !== timeline.decisionOf(list)
      : (): boolean =>
          timeline.refreshes.some(
            ({ accepts, atMs: acceptedAtMs, process: { fields } }) =>
              accepts &&
              fields === process.fields &&
              acceptedAtMs <= atMs &&
              acceptedAtMs >= sinceMs,
          );
    /** Whether the fleet held this very list before; what a replica remembers, others and restarts know. */
    const isBack = timeline.servings.some(
      (held) =>
        held.list === after &&
        held.process.fields === process.fields &&
        held.untilMs >= sinceMs &&
        timeline.calls.some(
          ({ list, deliveredAtMs = 0 }) =>
            list === after && deliveredAtMs > held.fromMs && deliveredAtMs <= atMs,
        ),
    );
    if (isBack) continue;
    // Where two histories meet, and the guard would refuse either list beside the other, the youngest goes on.
    const isLoadedHere = timeline.calls.some(
      ({ list, process: loader }) => list === after && loader === process,
    );
    const goesEitherWay = (list: BankList): boolean =>
      !isLoadedHere && mayBeRefused(after.shape, list.shape);
    const measure = earlier.find(
      ({ list, untilMs }) =>
        untilMs >= sinceMs &&
        mustBeRefused(list.shape, after.shape) &&
        !isAccepted(list) &&
        !isOver(list, untilMs) &&
        !goesEitherWay(list),
    );
    if (measure)
      yield `${timeline.at(atMs, process)} takes ${timeline.nameOf(after)} after ${timeline.nameOf(measure.list)}`;
  }
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
    if (!timeline.isAgeKnown(saved.list, readyAtMs)) continue;
    if (expiryMs(process, saved.list, readyAtMs) < readyAtMs + 5 * SECOND) continue;
    const list = timeline.listAt(process, readyAtMs);
    if (!list || timeline.isLater(list, saved.list, readyAtMs) === false)
      yield `${timeline.at(readyAtMs, process)} has saved ${timeline.nameOf(saved.list)}, and serves ${timeline.nameOf(list)}`;
  }
};
