import type { Overridable } from '../../../src/banks/guard/guard.ts';
import {
  ALL_FIELDS,
  hasSameEntries,
  mayBeRefused,
  mustBeRefused,
  type BankList,
} from '../bank-lists.ts';
import { MINUTE, SECOND } from '../durations.ts';
import type { Process, Serving } from '../history.ts';
import {
  expiryMs,
  lastAskedMs,
  lifeMs,
  nameOf,
  windowMs,
  type Check,
  type Timeline,
} from './timeline.ts';

// What a process serves after what.

type ServedList = Serving & { readonly list: BankList };

/** A process takes a list. */
interface Step {
  readonly process: Process;
  readonly after: BankList;
  readonly atMs: number;
}

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
      if (!list || !next || next.list || !timeline.isAgeKnown(process, list, untilMs)) continue;
      const askedAtMs = timeline.askedMsOf(process, list, fromMs);
      const earlyMs = askedAtMs + lifeMs(process) - next.fromMs;
      if (earlyMs > 3 * SECOND)
        yield [next.fromMs, process, `no longer serves ${nameOf(list)}, ${earlyMs} ms too early`];
    }
};

export const nothingTooOldIsServed: Check = function* (timeline) {
  for (const { process, endedAtMs: atMs = 0, list } of timeline.visits) {
    if (!list || !timeline.isAgeKnown(process, list, atMs)) continue;
    const lateMs = atMs - expiryMs(process, list, atMs);
    if (lateMs > process.timeoutMs + SECOND)
      yield [atMs, process, `serves ${nameOf(list)}, ${lateMs} ms too old`];
  }
};

export const agesAreTrue: Check = function* (timeline) {
  for (const { process, endedAtMs: atMs = 0, list, ageMs } of timeline.visits) {
    if (!list || ageMs === undefined || !timeline.isAgeKnown(process, list, atMs)) continue;
    // A sleep, a corrected clock and a slow Redis each cost it a part of a second.
    const isShaken = timeline.troubled(
      ['sleep', 'clock', 'redis', 'process'],
      'all',
      list.askedAtMs[0] ?? 0,
      atMs,
    );
    const tolerance = isShaken ? 3 * SECOND : SECOND / 4;
    // Measured from the call at the earliest, from its answer at the latest.
    const deliveredAtMs = list.deliveredAtMs.findLast((ms) => ms <= atMs) ?? atMs;
    const least = atMs - deliveredAtMs - tolerance;
    const most = atMs - (list.askedAtMs[0] ?? 0) + tolerance;
    if (ageMs < least || ageMs > most)
      yield [
        atMs,
        process,
        `says ${ageMs} ms, not between ${least} and ${most}, of ${nameOf(list)}`,
      ];
  }
};

/** Also on every replica that has the list; what the bodies decode to is checked at each visit. */
export const anEntityTagNamesItsBytes: Check = function* ({ visits }) {
  const known = new Map<BankList, string>();
  const named = new Map<string, string>();
  for (const { process, atMs, list, etags } of visits) {
    if (!list || !etags) continue;
    const tags = etags.join();
    const before = known.get(list);
    if (before === tags) continue;
    if (before !== undefined)
      yield [atMs, process, `tags ${nameOf(list)} with ${tags}, and before with ${before}`];
    known.set(list, tags);
    for (const [coding, tag] of etags.entries()) {
      const bytes = `${coding} ${list.json}`;
      if (!/^"[^"]+"$/.test(tag) || (named.get(tag) ?? bytes) !== bytes)
        yield [atMs, process, `tags ${nameOf(list)} with ${tag}, like something else`];
      named.set(tag, bytes);
    }
  }
};

export const neverBackToWhatWasBefore: Check = function* (timeline) {
  for (const [process, served] of stretches(timeline))
    for (const [index, { list: after, fromMs: atMs }] of served.entries()) {
      const before = served[index - 1]?.list;
      if (!before || timeline.isLater(after, before, atMs) !== false) continue;
      // What a process had saved before it was started, and what it made of that alone, has no say
      // beside the others' list.
      const isOld = ({ list }: ServedList): boolean =>
        lastAskedMs(list, atMs) < process.startedAtMs;
      const isOwn = ({ list }: ServedList): boolean =>
        timeline.calls.some((call) => call.list === list && call.process === process);
      const until = served.slice(0, index);
      const isRestored = until.some(isOld) && until.every((each) => isOld(each) || isOwn(each));
      const isOver =
        expiryMs(process, before, atMs) < atMs ||
        timeline.isOverElsewhere(process, before, atMs) ||
        !timeline.isAgeKnown(process, before, atMs);
      // A list that was loaded without knowing of the others' is measured by theirs.
      const isRefused =
        timeline.decisionOf(before) === timeline.decisionOf(after) &&
        timeline.mayGuardRefuse(process, before, atMs, ({ process: other }) =>
          timeline.servingsOf(other).some(({ list, fromMs }) => list === after && fromMs <= atMs),
        );
      if ((process.snapshot && isRestored) || isOver || isRefused) continue;
      yield [atMs, process, `replaces ${nameOf(before)} by ${nameOf(after)}`];
    }
};

export const theGuardHolds: Check = function* (timeline) {
  /** What is remembered comes with the list, also to a process that has nothing to serve. */
  const remembered = new Map<BankList, ServedList[]>();
  for (const [process, served] of stretches(timeline)) {
    let measures: ServedList[] = [];
    for (const [index, serving] of served.entries()) {
      const { list: after, fromMs: atMs } = serving;
      const step = { process, after, atMs };
      const sinceMs = atMs - windowMs(process);
      const before = served[index - 1]?.list;
      const forgotten = (untilMs: number): readonly Overridable[] =>
        timeline.wasUpgraded(untilMs, atMs) ? ['drifted'] : [];
      const against = measures.filter(
        ({ list: { shape }, untilMs }) =>
          untilMs >= sinceMs &&
          shape !== after.shape &&
          // Of the lists before, the previous release remembered only how many entries they had.
          mustBeRefused(shape, after.shape, forgotten(untilMs)),
      );
      const isBack = !timeline.everyAnswerDiffers && before !== after && isBackTo(timeline, step);
      if (before && against.length > 0) {
        const measure = against.find(
          ({ list, untilMs }) =>
            expiryMs(process, list, untilMs) >= untilMs &&
            (whereLoaded(timeline, list, step)?.untilMs ?? Infinity) >= sinceMs &&
            !timeline.isOverElsewhere(process, list, atMs) &&
            !isLeftElsewhere(timeline, list, step) &&
            !isAcceptedAfter(timeline, list, step, forgotten(untilMs)) &&
            !mayWinAnyway(timeline, list, step),
        );
        if (measure && !isBack && timeline.isAgeKnown(process, before, atMs))
          yield [atMs, process, `takes ${nameOf(after)} after ${nameOf(measure.list)}`];
      }
      // What was served before a list that has come back goes on to count, what came since does not.
      const first = measures.findIndex(({ list }) => hasSameEntries(list, after));
      if (isBack) measures = measures.slice(0, Math.max(0, first));
      // Whatever the reason is: the list that is taken is the measure of the next one.
      else if (before && against.length > 0) measures = [];
      // What is remembered comes with the list, from the process that loaded it.
      const loader = before && whereLoaded(timeline, before, step);
      if (loader)
        measures = measures.map((measure) =>
          measure.list === before && loader.untilMs < measure.untilMs
            ? { ...measure, untilMs: loader.untilMs }
            : measure,
        );
      else measures = (timeline.everyAnswerDiffers && !before && remembered.get(after)) || [];
      measures = [...measures, serving];
      if (timeline.calls.some((call) => call.list === after && call.process === process))
        remembered.set(after, measures);
    }
  }
};

export const aFirstListHasAllFields: Check = function* (timeline) {
  for (const [process, [first]] of stretches(timeline)) {
    if (!first || first.list.shape.nameless < first.list.shape.size) continue;
    // None is promised.
    if (process.fields === ALL_FIELDS) continue;
    const { list, fromMs: atMs } = first;
    const isAnothers = timeline.calls.some(
      (call) => call.list === list && call.process !== process,
    );
    // What was over only when it had been compressed was its measure.
    const wasOver = !timeline.listAt(process, atMs - 3 * SECOND);
    if (!isAnothers && wasOver) yield [atMs, process, `begins with ${nameOf(list)}`];
  }
};

export const aSnapshotFromTheFutureIsRenewed: Check = function* (timeline) {
  if (timeline.hasRedis) return;
  for (const process of timeline.processes) {
    const { startedAtMs, readyAtMs, index } = process;
    const soonMs = readyAtMs + 5 * SECOND;
    const list = timeline.listAt(process, readyAtMs);
    const earlier = timeline.servings.filter(
      (serving) =>
        serving.list === list &&
        serving.process.index === index &&
        serving.process.startedAtMs < startedAtMs,
    );
    // A process that has it from the snapshot leaves that as it is.
    const [saved, last] = [earlier[0], earlier.at(-1)];
    if (!list || !saved || !last || saved.wallFromMs < process.startedWallMs + MINUTE) continue;
    if (!timeline.ranThrough(process, readyAtMs, soonMs)) continue;
    // It was written again, with the time of then; by a clock that was corrected, too.
    const untilMs = last.process.endedAtMs - 1;
    if (timeline.troubled(['disk', 'clock'], index, saved.fromMs - SECOND, untilMs)) continue;
    const isAsked = timeline.calls.some(
      (call) => call.process === process && call.askedAtMs <= soonMs,
    );
    if (!isAsked) yield [soonMs, process, `keeps ${nameOf(list)}, which was saved in the future`];
  }
};

/**
 * What the process that loaded `after` had served until then, of the list `list`; undefined if it
 * never had it.
 */
const whereLoaded = (
  { calls, servingsOf }: Timeline,
  list: BankList,
  { after, atMs }: Step,
): Serving | undefined => {
  const load = calls.findLast((call) => call.list === after && call.deliveredAtMs <= atMs);
  const served = load ? servingsOf(load.process) : [];
  return served.findLast((serving) => serving.list === list && serving.fromMs <= atMs);
};

/**
 * Whether the fleet held this very list before: what a replica remembers, others and restarts know.
 */
const isBackTo = (timeline: Timeline, { process, after, atMs }: Step): boolean =>
  timeline.servings.some(
    (held) =>
      held.list !== undefined &&
      hasSameEntries(held.list, after) &&
      held.process.fields === process.fields &&
      timeline.calls.some(
        ({ list, deliveredAtMs }) =>
          list === after &&
          deliveredAtMs > held.fromMs &&
          deliveredAtMs <= atMs &&
          // It was in the window when it came to whoever loaded it.
          held.untilMs >= timeline.rememberedSinceMs(process, deliveredAtMs) - 2 * SECOND,
      ),
  );

/**
 * Whether whoever loaded `after` has gone back meanwhile to a list from before `list`: then `list` is
 * no measure any more.
 */
const isLeftElsewhere = (timeline: Timeline, list: BankList, step: Step): boolean =>
  timeline.calls.some(({ list: loaded, process, deliveredAtMs }) => {
    if (loaded !== step.after || process === step.process || deliveredAtMs > step.atMs)
      return false;
    const served = timeline.servingsOf(process).filter(({ fromMs }) => fromMs < deliveredAtMs);
    const from = served.findIndex((serving) => serving.list === list);
    if (from === -1) return false;
    return served
      .slice(from + 1)
      .some(
        ({ list: after, fromMs: atMs }) => after && isBackTo(timeline, { process, after, atMs }),
      );
  });

/**
 * Whether an operator has accepted `after`, or one before it, since `list` was loaded.
 * @param forgotten for what `list` is no measure any more
 */
const isAcceptedAfter = (
  timeline: Timeline,
  list: BankList,
  { process, after, atMs }: Step,
  forgotten: readonly Overridable[],
): boolean => {
  const decision = timeline.decisionOf(after);
  if (timeline.everyAnswerDiffers && decision === timeline.decisionOf(list)) return false;
  const accepted = timeline.everyAnswerDiffers
    ? (decision?.accepts ?? [])
    : timeline.refreshes
        .filter(
          ({ atMs: acceptedAtMs, process: { fields } }) =>
            fields === process.fields &&
            acceptedAtMs <= atMs &&
            // A decision counts for as long as a list may be served that is based on it.
            acceptedAtMs >= atMs - windowMs(process) - lifeMs(process),
        )
        .flatMap(({ accepts }) => accepts);
  return (
    accepted.length > 0 && !mustBeRefused(list.shape, after.shape, [...accepted, ...forgotten])
  );
};

/**
 * Where two histories meet, and the guard would refuse either list beside the other, the youngest
 * goes on; and what a process had saved before it was started has no say beside the others' list.
 */
const mayWinAnyway = (
  timeline: Timeline,
  list: BankList,
  { process, after, atMs }: Step,
): boolean => {
  const loads = timeline.calls.filter((call) => call.list === after);
  // What was refused here may come from another replica, and look the same.
  const mayBeAnothers =
    !loads.some((call) => call.process === process) ||
    (!timeline.everyAnswerDiffers && loads.some((call) => call.process !== process));
  const isRestored = timeline.hasSnapshot && lastAskedMs(list, atMs) < process.startedAtMs;
  return mayBeAnothers && (isRestored || mayBeRefused(after.shape, list.shape));
};

/** A write that failed is tried again after a minute. */
const SAVED_MS = MINUTE + 15 * SECOND;

export const theSnapshotHasTheList: Check = function* (timeline) {
  if (!timeline.hasSnapshot) return;
  for (const { process, atMs, list, isSaved } of timeline.readings) {
    const { list: served, fromMs = Infinity } =
      timeline.servingsOf(process).findLast((serving) => serving.fromMs <= atMs) ?? {};
    const soonMs = fromMs + 10 * SECOND;
    if (isSaved || !list || served !== list || !timeline.ranThrough(process, fromMs, soonMs))
      continue;
    const isShaken =
      timeline.troubled(['disk', 'sleep'], process.index, atMs - SAVED_MS, atMs) ||
      // Somebody has changed it.
      timeline.troubles.some(
        ({ kind, who, what, fromMs: changedAtMs }) =>
          kind === 'disk' && who === process.index && what !== undefined && changedAtMs >= fromMs,
      );
    if (atMs > soonMs && !isShaken) yield [atMs, process, `has not saved ${nameOf(list)}`];
  }
};

/** What a process knew of its wall clock's error, in milliseconds, when it started and ended. */
const startErrorMs = ({ startedWallMs, startedAtMs }: Process): number =>
  startedWallMs - startedAtMs;
const endErrorMs = ({ endedWallMs, endedAtMs }: Process): number => endedWallMs - endedAtMs;

/**
 * Processes that start with what the one before has saved and loaded itself, and whose clock is as
 * it was when that was saved, whatever clocks there were in between.
 */
function* restartsWithAKnownClock(timeline: Timeline): Iterable<Restart> {
  if (!timeline.hasSnapshot || timeline.hasRedis) return;
  for (const process of timeline.processes) {
    const { index, startedAtMs, readyAtMs } = process;
    if (readyAtMs === Infinity) continue;
    const earlier = timeline.processes.filter(
      (other) => other.index === index && other.startedAtMs < startedAtMs,
    );
    const last = earlier.findLast((other) => timeline.servingsOf(other).some(({ list }) => list));
    const saved = last && timeline.servingsOf(last).findLast(({ list }) => list);
    if (!last || !saved?.list || saved.fromMs > last.endedAtMs - SAVED_MS) continue;
    // One that was restored is written back as it was read: which clock was right, nobody knows.
    const { list } = saved;
    if (!timeline.callsOf(last).some((call) => call.list === list)) continue;
    const isClockKept = (fromMs: number, untilMs: number): boolean =>
      !timeline.troubled(['clock'], index, fromMs, untilMs);
    if (!isClockKept(last.endedAtMs - SAVED_MS, last.endedAtMs - 1)) continue;
    if (!isClockKept(startedAtMs, readyAtMs)) continue;
    if (timeline.troubled(['disk', 'sleep'], index, saved.fromMs - SECOND, readyAtMs)) continue;
    const askedAtMs = timeline.askedMsOf(last, list, readyAtMs);
    if (askedAtMs + lifeMs(process) < readyAtMs + 5 * SECOND) continue;
    yield { process, list, aheadMs: startErrorMs(process) - endErrorMs(last) };
  }
}

interface Restart {
  readonly process: Process;
  /** What was saved. */
  readonly list: BankList;
  /** By how much its clock is ahead of the one that the list was saved by. */
  readonly aheadMs: number;
}

export const aCorrectedClockTakesNoListAway: Check = function* (timeline) {
  for (const { process, list, aheadMs } of restartsWithAKnownClock(timeline))
    if (aheadMs <= SECOND && !timeline.listAt(process, process.readyAtMs))
      yield [process.readyAtMs, process, `has saved ${nameOf(list)}, and has nothing to serve`];
};

export const aCorrectedClockChangesNoAge: Check = function* (timeline) {
  if (!timeline.everyAnswerDiffers) return;
  for (const { process, list, aheadMs } of restartsWithAKnownClock(timeline)) {
    if (Math.abs(aheadMs) > SECOND) continue;
    const visit = timeline.visits.find((each) => each.process === process);
    if (visit?.ageMs === undefined || visit.list !== list) continue;
    const wrongMs = visit.ageMs - (visit.atMs - lastAskedMs(list, visit.atMs));
    if (Math.abs(wrongMs) > process.timeoutMs + 2 * SECOND)
      yield [visit.atMs, process, `says an age that is wrong by ${wrongMs} ms`];
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
    const askedAtMs = timeline.askedMsOf(last, saved.list, readyAtMs);
    if (!timeline.isAgeKnown(process, saved.list, readyAtMs, askedAtMs)) continue;
    if (askedAtMs + lifeMs(process) < readyAtMs + 5 * SECOND) continue;
    // Its age has only the wall clock: what Redis never had has no say beside what it has. What it
    // gets during the start may come too late to be read.
    const write = timeline.writes.findLast(
      ({ atMs, call }) => call.list === saved.list && atMs <= startedAtMs,
    );
    if (timeline.hasRedis && !(write && timeline.isInOrder(write, readyAtMs))) continue;
    // Neither has a decision in a snapshot that Redis has lost, once it has another list.
    const isOvertaken =
      write !== undefined &&
      timeline.troubled(['redis'], 'all', write.atMs, readyAtMs) &&
      timeline.writes.some(
        ({ atMs, call }) =>
          atMs > write.atMs && atMs <= readyAtMs && call.process.fields === last.fields,
      );
    if (isOvertaken) continue;
    const list = timeline.listAt(process, readyAtMs);
    if (!list || timeline.isLater(list, saved.list, readyAtMs) === false)
      yield [readyAtMs, process, `has saved ${nameOf(saved.list)}, and serves ${nameOf(list)}`];
  }
};
