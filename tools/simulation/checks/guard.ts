import {
  FIELDS,
  hasSameEntries,
  mayBeRefused,
  mustBeRefused,
  type BankList,
} from '../bank-lists.ts';
import { SECOND } from '../durations.ts';
import type { Call, Report } from '../history.ts';
import { lifeMs, nameOf, STORE, windowMs, type Breach, type Check } from './timeline.ts';
import type { Timeline } from './timeline.ts';

// What the guard refuses, by a model of what it remembers: docs/configuration.md, "Which lists are
// refused". The model follows one line of lists at a time, also through restarts and from replica to
// replica: that of a machine without Redis, or that of a fleet until something is wrong.

/** A list that was replaced. */
interface Earlier {
  readonly list: BankList;
  readonly untilMs: number;
  /** Otherwise it may have been forgotten. */
  readonly isCertain: boolean;
}

interface Memory {
  readonly current: BankList;
  /** When the last answer came that had the current list; undefined: it is not known. */
  readonly loadedAtMs?: number;
  /** Oldest first. */
  readonly earlier: readonly Earlier[];
  /** Whether nothing else can be remembered. */
  readonly isWhole: boolean;
}

/** What times may be wrong by: a list is compressed, and sleeps cost a clock parts of a second. */
const SLACK_MS = 5 * SECOND;
/** What is remembered is kept in parts of the window, and forgotten by the part. */
const LONGEST_WINDOWS = 1 + 1 / 14;
/** More lists than these are remembered together: their content may not be known any more. */
const MOST_KNOWN = 10;

/** A list that was loaded while another one is cached. */
interface Candidate {
  readonly memory: Memory;
  readonly list: BankList;
  readonly report: Report;
  /** Whether it cannot be one that was there before. */
  readonly isNew: boolean;
}

/** With what the guard compares a list: what it certainly does, or all that it may. */
const measuresOf = ({ memory, report }: Candidate, isCertain: boolean): BankList[] => {
  const longestMs = windowMs(report.process);
  const sinceMs = isCertain
    ? report.atMs - longestMs + SLACK_MS
    : report.atMs - longestMs * LONGEST_WINDOWS - SLACK_MS;
  const earlier = memory.earlier.filter(
    (each) => each.untilMs >= sinceMs && (each.isCertain || !isCertain),
  );
  return [memory.current, ...earlier.map(({ list }) => list)];
};

/** Where among the earlier lists is the one that has come back; -1: nowhere. */
const returnsTo = ({ memory, list }: Candidate): number =>
  memory.earlier.findIndex((each) => hasSameEntries(each.list, list));

const isCertainReturn = (candidate: Candidate): boolean => {
  const { memory, list, report } = candidate;
  if (hasSameEntries(memory.current, list)) return true;
  const index = returnsTo(candidate);
  const found = memory.earlier[index];
  return (
    found?.isCertain === true &&
    found.untilMs >= report.atMs - windowMs(report.process) + SLACK_MS &&
    memory.earlier.length - index <= MOST_KNOWN
  );
};

const mayReturn = (candidate: Candidate): boolean =>
  !candidate.isNew &&
  (!candidate.memory.isWhole ||
    returnsTo(candidate) !== -1 ||
    hasSameEntries(candidate.memory.current, candidate.list));

/** Whether the cached list is over; undefined: it is so at about this time. */
const isOver = ({ memory, report }: Candidate, { deliveredAtMs }: Call): boolean | undefined => {
  if (memory.loadedAtMs === undefined) return undefined;
  const overAtMs = memory.loadedAtMs + lifeMs(report.process);
  if (report.atMs < overAtMs - SLACK_MS) return false;
  return deliveredAtMs > overAtMs + SLACK_MS || undefined;
};

const mayRefuse = (candidate: Candidate): boolean =>
  !candidate.memory.isWhole ||
  measuresOf(candidate, false).some(({ shape }) => mayBeRefused(shape, candidate.list.shape));

const mustRefuse = (candidate: Candidate, accepted: Parameters<typeof mustBeRefused>[2]): boolean =>
  !mayReturn(candidate) &&
  measuresOf(candidate, true).some(({ shape }) =>
    mustBeRefused(shape, candidate.list.shape, accepted),
  );

const inDoubt = (earlier: readonly Earlier[]): Earlier[] =>
  earlier.map((each) => ({ ...each, isCertain: false }));

/** What is remembered of the lists before one that was taken. */
const earlierAfter = (candidate: Candidate, isAsked: boolean): readonly Earlier[] => {
  const { memory, list, report } = candidate;
  const { current, earlier } = memory;
  const replaced = { list: current, untilMs: report.atMs, isCertain: true };
  if (hasSameEntries(current, list)) return earlier;
  // An operator's decision is the measure of what follows, if it was needed.
  if (isAsked && mustRefuse(candidate, [])) return [];
  if (isAsked && mayRefuse(candidate)) return inDoubt([...earlier, replaced]);
  const index = returnsTo(candidate);
  if (index === -1) return [...earlier, replaced];
  const before = earlier.slice(0, index);
  return isCertainReturn(candidate)
    ? before
    : [...before, ...inDoubt([...earlier.slice(index), replaced])];
};

/** The lists that one machine, or one fleet, has loaded, and those that it has refused. */
interface Line {
  readonly reports: readonly Report[];
  /** From here on it is not known what happened. */
  readonly untilMs: number;
}

const linesOf = ({ hasRedis, processes, reports, troubles }: Timeline): Line[] => {
  if (!hasRedis) {
    const machines = new Set(processes.map(({ index }) => index));
    return [...machines].map((machine) => ({
      reports: reports.filter(({ process: { index } }) => index === machine),
      untilMs: Infinity,
    }));
  }
  const disturbing: readonly string[] = [...STORE, 'redis clock', 'sleep', 'clock'];
  const untilMs = Math.min(
    ...troubles.filter(({ kind }) => disturbing.includes(kind)).map(({ fromMs }) => fromMs),
  );
  return FIELDS.map((fields) => ({
    reports: reports.filter(({ process }) => process.fields === fields),
    untilMs,
  }));
};

/**
 * What is known of the memory of a process that starts: all, where its snapshot has the list and
 * nothing was wrong.
 */
const restoredFrom = (
  { hasSnapshot, servingsOf, troubled }: Timeline,
  memory: Memory | undefined,
  before: Report,
  { process, list, atMs }: Report,
): Memory | undefined => {
  if (!list) return undefined;
  const last = before.process;
  const saved = servingsOf(last).findLast((serving) => serving.list);
  const isKept =
    hasSnapshot &&
    memory?.current === list &&
    saved?.list === list &&
    saved.fromMs < last.endedAtMs - SLACK_MS &&
    before.atMs < last.endedAtMs - SLACK_MS &&
    !troubled(['disk', 'clock', 'sleep'], process.index, saved.fromMs - SLACK_MS, atMs);
  return isKept ? memory : { current: list, earlier: [], isWhole: false };
};

/** Follows one line, and compares what was refused and taken with the model. */
function* follow(timeline: Timeline, { reports, untilMs }: Line): Iterable<Breach> {
  const isNew = timeline.everyAnswerDiffers;
  let memory: Memory | undefined;
  let before: Report | undefined;
  for (const report of reports) {
    const { event, process, atMs, list, previous } = report;
    if (atMs >= untilMs) return;
    const isStart = !timeline.hasRedis && before !== undefined && before.process !== process;
    if (event.type === 'list-restored' && isStart && before && !previous)
      memory = restoredFrom(timeline, memory, before, report);
    const isAbout = event.type === 'list-renewed' || event.type === 'list-load-failed';
    if (isAbout || event.type === 'list-restored') before = report;
    if (!isAbout) continue;
    const call = timeline.callsOf(process).findLast((each) => each.deliveredAtMs <= atMs);
    if (event.type === 'list-load-failed') {
      const isGuards = event.error.kind === 'shrunk' || event.error.kind === 'drifted';
      if (!isGuards || !call?.list || memory === undefined) continue;
      if (timeline.listAt(process, call.askedAtMs) !== memory.current) continue;
      const candidate = { memory, list: call.list, report, isNew };
      const over = isOver(candidate, call);
      if (over === true || (over === false && isCertainReturn(candidate)) || !mayRefuse(candidate))
        yield [atMs, process, `refuses ${nameOf(call.list)}: ${event.error.message}`];
      continue;
    }
    if (event.type !== 'list-renewed') continue;
    if (!list || !call || call.list !== list) {
      memory = undefined;
      continue;
    }
    const { deliveredAtMs: loadedAtMs } = call;
    if (!memory || memory.current !== previous) {
      // Nothing was cached, or it is not known what was.
      const isFirst = !previous && (!memory || !timeline.hasRedis);
      memory = { current: list, loadedAtMs, earlier: [], isWhole: isFirst };
      continue;
    }
    const candidate = { memory, list, report, isNew };
    const over = isOver(candidate, call);
    const asked = acceptedFor(timeline, call);
    if (over === false && mustRefuse(candidate, asked))
      yield [atMs, process, `takes ${nameOf(list)} after ${nameOf(memory.current)}`];
    if (over === undefined) memory = { current: list, loadedAtMs, earlier: [], isWhole: false };
    else
      memory = {
        current: list,
        loadedAtMs,
        earlier: over ? [] : earlierAfter(candidate, asked.length > 0),
        isWhole: over || memory.isWhole || (asked.length > 0 && mustRefuse(candidate, [])),
      };
  }
}

/** For what operators accept the list of a call. */
const acceptedFor = ({ refreshes }: Timeline, { process, askedAtMs, deliveredAtMs }: Call) =>
  refreshes
    .filter(
      ({ process: asked, atMs, endedAtMs = Infinity }) =>
        asked === process && atMs <= askedAtMs && endedAtMs >= deliveredAtMs,
    )
    .flatMap(({ accepts }) => accepts);

export const theGuardRemembers: Check = function* (timeline) {
  for (const line of linesOf(timeline)) yield* follow(timeline, line);
};
