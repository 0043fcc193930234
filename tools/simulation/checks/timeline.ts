import { OVERRIDABLE, type Overridable } from '../../../src/banks/guard/guard.ts';
import { FIELDS, mayBeRefused, mustBeRefused, type BankList } from '../bank-lists.ts';
import { HOUR, MINUTE, SECOND } from '../durations.ts';
import {
  isTroubling,
  UPGRADED,
  type Call,
  type History,
  type Process,
  type Refresh,
  type Report,
  type Serving,
  type Trouble,
  type Write,
} from '../history.ts';
import { moment } from '../plan.ts';
import type { StoreName } from '../../../src/sharing/store-report.ts';
import { consequencesOf } from './secret-troubles.ts';

// What the checks ask of a history.

/** What times may differ by where one process counts them. */
export const EXACT_MS = 50;

/** Troubles with Redis: those that are noticed, and those that are not. */
export const STORE = ['redis', 'silent redis'] as const;

/** The failures that the guard has found in a list that was sent completely. */
export const GUARD_FAILURES: readonly string[] = [...OVERRIDABLE, 'missing_field'];

/** What broke a promise: when, where and how. */
export type Breach = readonly [atMs: number, process: Process, how: string];
/** A check is named by the promise that it is about. */
export type Check = (timeline: Timeline) => Iterable<Breach>;

/** After this time all have what one has written to a Redis that works. */
export const SETTLED_MS = 15 * SECOND;

/** How a call is named in what is reported. */
export const placeOf = ({ askedAtMs, process }: Call): string =>
  `${moment(askedAtMs)} ${process.name}`;
/** How a list is named in what is reported. */
export const nameOf = (list: BankList | undefined): string => {
  const asked = list?.askedAtMs.slice(-2).map(moment).join(' and ');
  return list ? `the list of ${asked} (${JSON.stringify(list.shape)})` : 'none';
};

/** The longest drain: SHUTDOWN_GRACE. */
const STOP_MS = 10 * SECOND;

/** The longest back-off: README, "Retries". */
export const longestRetryMs = ({ ttlMs }: Process): number => Math.min(ttlMs, MINUTE);

/** What is remembered of the lists before: README, "A list that shrank or drifted". */
export const windowMs = ({ maxStaleMs }: Process): number => Math.min(7 * 24 * HOUR, maxStaleMs);

/** When the latest call was made that had brought the list by a moment. */
export const lastAskedMs = ({ askedAtMs, deliveredAtMs }: BankList, byMs: number): number =>
  askedAtMs[deliveredAtMs.findLastIndex((atMs) => atMs <= byMs)] ?? -Infinity;

/** The last entry for which it holds, of those in whose order it holds up to one of them. */
export const lastUntil = <T>(
  entries: readonly T[],
  holds: (entry: T) => boolean,
): T | undefined => {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const entry = entries[middle];
    if (entry && holds(entry)) from = middle + 1;
    else to = middle;
  }
  return entries[from - 1];
};

/** How long a list may be served. */
export const lifeMs = ({ ttlMs, maxStaleMs }: Process): number => ttlMs + maxStaleMs;

/** The end of the time in which a list may be served. */
export const expiryMs = (process: Process, list: BankList, atMs: number): number =>
  lastAskedMs(list, atMs) + lifeMs(process);

/** The last decision that a list is a successor of. */
export interface Decision {
  readonly atMs: number;
  /** Whether the guard would have refused the list without it. */
  readonly wasNeeded: boolean;
  /** What it accepts, and those before it. */
  readonly accepts: readonly Overridable[];
}

/** Where it cannot be told: operators may have accepted anything. */
const UNKNOWN_DECISION: Decision = { atMs: -Infinity, wasNeeded: false, accepts: OVERRIDABLE };

export type Timeline = ReturnType<typeof createTimeline>;

export const createTimeline = (history: History, endedAtMs: number) => {
  const { processes, servings, calls, refreshes } = history;
  const troubles = [...history.troubles, ...consequencesOf(history)];
  const servingsOf = new Map<Process, Serving[]>(processes.map((process) => [process, []]));
  for (const serving of servings) servingsOf.get(serving.process)?.push(serving);
  const reportsOf = new Map<Process, Report[]>(processes.map((process) => [process, []]));
  for (const report of history.reports) reportsOf.get(report.process)?.push(report);
  const callsOf = new Map<Process, Call[]>(processes.map((process) => [process, []]));
  for (const call of calls) callsOf.get(call.process)?.push(call);
  const decisions = new Map<BankList, Decision | undefined>();

  /** What a process served at a moment; undefined: nothing, or it did not run. */
  const listAt = (process: Process, atMs: number): BankList | undefined =>
    lastUntil(servingsOf.get(process) ?? [], ({ fromMs }) => fromMs <= atMs)?.list;

  /** What a process served when the list of a call came, which it may have served at once. */
  const servedBefore = ({ process, deliveredAtMs }: Call): BankList | undefined =>
    listAt(process, deliveredAtMs - 1);

  /** Whether something of these kinds was wrong for the replica at some time in the interval. */
  const troubled = (
    kinds: readonly Trouble['kind'][],
    who: Trouble['who'],
    fromMs: number,
    untilMs: number,
  ) =>
    troubles.some(
      (trouble) => kinds.includes(trouble.kind) && isTroubling(trouble, who, fromMs, untilMs),
    );
  /** Whether a process ran, awake, for the whole interval. */
  const ranThrough = (process: Process, fromMs: number, untilMs: number): boolean =>
    process.readyAtMs <= fromMs &&
    process.endedAtMs > untilMs &&
    !troubled(['sleep'], process.index, fromMs, untilMs);
  /**
   * Whether a process did not answer within `limitMs` what it was asked, nor when it was stopped.
   */
  const isUnanswered = (
    process: Process,
    atMs: number,
    limitMs: number,
    answeredAtMs: number,
  ): boolean => {
    const dueMs = Math.min(atMs + limitMs, Math.max(atMs, process.endedAtMs) + STOP_MS);
    return (
      answeredAtMs > dueMs &&
      process.readyAtMs <= atMs &&
      process.killedAtMs > dueMs &&
      dueMs <= endedAtMs + 2 * STOP_MS &&
      !troubled(['sleep'], process.index, atMs, dueMs)
    );
  };
  /** Whether what Redis has was made unreadable between the two. */
  const wasSpoilt = (fromMs: number, untilMs: number): boolean =>
    history.troubles.some(
      (trouble) => trouble.what === 'spoilt' && trouble.fromMs > fromMs && trouble.fromMs < untilMs,
    );
  /** Whether what was saved in this time has gone through the previous release. */
  const wasUpgraded = (fromMs: number, untilMs: number): boolean =>
    history.troubles.some(
      (trouble) =>
        trouble.what === UPGRADED && trouble.fromMs >= fromMs && trouble.fromMs <= untilMs,
    );
  /** Whether a process could share lists for the whole interval. */
  const isConnected = (process: Process, fromMs: number, untilMs: number): boolean =>
    history.hasRedis &&
    ranThrough(process, fromMs, untilMs) &&
    !troubled(STORE, process.index, fromMs, untilMs);

  /** The longest back-off of the fleet of a process: the replicas wait for one another. */
  const longestRetryOf = ({ fields }: Process): number =>
    Math.max(
      ...processes.filter((other) => other.fields === fields).map((other) => longestRetryMs(other)),
    );
  const leftAlone = new Map<Call, number>();
  /** Until when the provider wants no calls, and the fleet obeys: README, "Retries". */
  const leaveAloneUntilMs = (call: Call): number => {
    const { retryAfterMs, process, endedAtMs: atMs } = call;
    if (retryAfterMs === undefined) return atMs;
    const known = leftAlone.get(call);
    if (known !== undefined) return known;
    // Also one that was under way then, comes from a snapshot, or from a replica that did not know:
    // once a list can be served, the wait is no longer that of a fleet without one.
    const emptyUntilMs = atMs + Math.min(retryAfterMs, MINUTE);
    const hasList = servings.some(
      ({ process: { fields }, list, untilMs }) =>
        list !== undefined &&
        fields === process.fields &&
        untilMs >= atMs &&
        (list.askedAtMs[0] ?? Infinity) <= emptyUntilMs,
    );
    const limitMs = atMs + Math.min(retryAfterMs, hasList ? Math.max(process.ttlMs, HOUR) : MINUTE);
    // A list that was certainly requested after it ends it for all that share lists. One that was
    // requested before, and came to a replica that slept meanwhile, does not.
    const end = calls.find(
      (other) =>
        history.hasRedis &&
        other.process.fields === process.fields &&
        other.askedAtMs > atMs &&
        other.deliveredAtMs > atMs + process.timeoutMs + SECOND &&
        other.deliveredAtMs < limitMs &&
        wasTaken(other) &&
        // Of two, the later one is in the way of that.
        !postponed.some(
          (later) => later.endedAtMs > atMs && later.endedAtMs <= other.deliveredAtMs,
        ) &&
        !troubled(STORE, 'all', atMs - SETTLED_MS, other.deliveredAtMs + SETTLED_MS),
    );
    const untilMs = end ? end.deliveredAtMs + SETTLED_MS : limitMs;
    leftAlone.set(call, untilMs);
    return untilMs;
  };
  const postponed = calls.filter(({ retryAfterMs }) => retryAfterMs !== undefined);
  const tooFew = calls.filter(({ failure }) => failure === 'too_few');
  /** Whether the provider answered rightly for the whole interval, and wanted calls. */
  const isHealthy = (process: Process, fromMs: number, untilMs: number): boolean =>
    !troubled(['provider'], 'all', fromMs, untilMs) &&
    !tooFew.some((call) => call.askedAtMs <= untilMs && call.endedAtMs >= fromMs) &&
    !postponed.some(
      (call) =>
        call.process.fields === process.fields &&
        call.askedAtMs <= untilMs &&
        leaveAloneUntilMs(call) >= fromMs,
    );

  /** The operator's request that a call was made for. */
  const acceptanceOf = ({ process, askedAtMs, deliveredAtMs }: Call): Refresh | undefined =>
    refreshes.find(
      ({ process: asked, accepts, atMs, endedAtMs: answeredAtMs = Infinity }) =>
        accepts.length > 0 &&
        asked === process &&
        atMs <= askedAtMs &&
        answeredAtMs >= deliveredAtMs,
    );
  for (const call of calls) {
    const { list, process, deliveredAtMs } = call;
    if (!list || (history.everyAnswerDiffers && decisions.has(list))) continue;
    const before = servingsOf
      .get(process)
      ?.findLast(
        (serving) => serving.fromMs <= deliveredAtMs && serving.list && serving.list !== list,
      )?.list;
    // What a process read while its first list was loaded cannot be told from here.
    const isUnknown =
      !before && refreshes.some(({ accepts, atMs }) => accepts.length > 0 && atMs < deliveredAtMs);
    // Each such list may follow another decision.
    const unknown = isUnknown ? { ...UNKNOWN_DECISION } : undefined;
    const inherited = before ? decisions.get(before) : unknown;
    const current = servedBefore(call);
    const acceptance = acceptanceOf(call);
    const decision = acceptance
      ? {
          atMs: deliveredAtMs,
          wasNeeded: current !== undefined && mustBeRefused(current.shape, list.shape),
          accepts: [...acceptance.accepts, ...(inherited?.accepts ?? [])],
        }
      : inherited;
    // Of lists that look alike, one may be a successor of the decision and another one not.
    const isUnclear = decisions.has(list) && decisions.get(list) !== decision;
    decisions.set(list, isUnclear ? { ...UNKNOWN_DECISION } : decision);
  }

  /**
   * Since when lists that were replaced may be remembered. Where a wrong clock has saved the
   * snapshot, nobody knows when that was: they count as replaced when it is read, also for those who
   * get the list from Redis then.
   */
  const rememberedSinceMs = (process: Process, atMs: number): number => {
    const longestMs = atMs - 3 * lifeMs(process);
    const who = history.hasRedis ? 'all' : process.index;
    const isUnknown =
      (history.hasSnapshot && troubled(['clock'], who, longestMs, atMs)) ||
      troubled(['redis clock'], 'all', longestMs, atMs);
    return isUnknown ? longestMs : atMs - windowMs(process);
  };

  /**
   * A guard that refuses the list has a reason in what replicas of the fleet have served lately.
   * @param counts which of it does
   */
  const mayGuardRefuse = (
    process: Process,
    list: BankList,
    atMs: number,
    counts: (serving: Serving) => boolean = () => true,
  ): boolean => {
    // What is remembered is kept in parts of the window, and forgotten by the part.
    const sinceMs = rememberedSinceMs(process, atMs) - 0.2 * windowMs(process);
    return servings.some(
      (serving) =>
        serving.list !== undefined &&
        serving.process.fields === process.fields &&
        serving.untilMs >= sinceMs &&
        serving.fromMs <= atMs &&
        mayBeRefused(serving.list.shape, list.shape) &&
        counts(serving),
    );
  };
  /**
   * Whether a process served nothing when the list of a call came. What it serves is looked up when
   * something happens to it: a list that was over shortly before may seem to be served until then.
   */
  const hasNoneBut = (over: BankList, call: Call): boolean => {
    const before = servedBefore(call);
    return !before || (before === over && listAt(call.process, call.deliveredAtMs) !== over);
  };
  /**
   * Whether the list was over for another replica of the fleet, which has loaded one since with
   * nothing to compare it with: the others follow.
   */
  const isOverElsewhere = ({ fields }: Process, list: BankList, atMs: number): boolean =>
    calls.some(
      (call) =>
        call.process.fields === fields &&
        call.deliveredAtMs <= atMs &&
        (list.askedAtMs[0] ?? Infinity) <= call.askedAtMs &&
        hasNoneBut(list, call) &&
        // The clock of Redis may have been wrong by parts of a second more after each fail-over.
        askedMsOf(call.process, list, call.askedAtMs) + lifeMs(call.process) <=
          call.deliveredAtMs + 2 * SECOND,
    );

  /**
   * Whether the list of a call was served then: the guard may have refused it, or the replica may
   * have slept until the call was given up.
   */
  const wasTaken = ({ process, list, askedAtMs, deliveredAtMs }: Call): boolean =>
    deliveredAtMs - askedAtMs < process.timeoutMs &&
    process.endedAtMs > deliveredAtMs + SECOND &&
    listAt(process, deliveredAtMs + SECOND) === list;
  /**
   * When a list was asked for that a process serves. Where lists look alike, another replica may
   * have been sent the same one later: by itself, or, where lists are shared, at the earliest.
   */
  const askedMsOf = (process: Process, list: BankList, atMs: number): number => {
    if (history.everyAnswerDiffers) return lastAskedMs(list, atMs);
    const own = calls.findLast(
      (call) =>
        !history.hasRedis &&
        call.process === process &&
        call.list === list &&
        call.deliveredAtMs <= atMs &&
        wasTaken(call),
    );
    return own?.askedAtMs ?? list.askedAtMs[0] ?? -Infinity;
  };
  /** Whether Redis has had a list since a moment, and a process has had time to read that. */
  const isInRedis = (process: Process, list: BankList, sinceMs: number, atMs: number): boolean =>
    isConnected(process, Math.max(process.readyAtMs, atMs - SETTLED_MS), atMs) &&
    !troubled(STORE, process.index, atMs - SETTLED_MS, atMs) &&
    history.writes.some(
      (write) =>
        write.call.list === list &&
        write.atMs <= sinceMs &&
        // Redis deletes what is too old.
        expiryMs(write.call.process, list, write.atMs) > sinceMs &&
        !troubled(STORE, 'all', write.atMs, atMs),
    );
  /** How often Redis had been empty before it got what it has. */
  const eraAt = (atMs: number): number =>
    history.eras.findLast(({ fromMs }) => fromMs <= atMs)?.number ?? 0;
  /**
   * Whether a list has an order with what Redis has later. What was written before Redis began anew
   * has none with what came after, unless the first list that it then got is one that it had before:
   * whoever wrote it knew how far it had got.
   */
  const isInOrder = (write: Write, atMs: number): boolean => {
    const [era, later] = [eraAt(write.atMs), eraAt(atMs)];
    if (era <= later) return era === later;
    const ofFleet = history.writes.filter(
      ({ call }) => call.process.fields === write.call.process.fields,
    );
    const first = ofFleet.find((other) => eraAt(other.atMs) === era);
    const lastBefore = ofFleet.findLast(
      (other) => eraAt(other.atMs) === later && other.atMs < (first?.atMs ?? 0),
    );
    // What was written after that list, nobody who had it from a snapshot knew.
    if (!lastBefore || lastBefore.call !== first?.call) return false;
    const { atMs: fromMs } = lastBefore;
    return !troubled(STORE, 'all', fromMs - SETTLED_MS, fromMs + SETTLED_MS);
  };
  /**
   * Whether a process can know how old a list is. Redis's clock tells it, unless that was set since
   * the list was asked for. A snapshot has only the wall clock: where that was changed between the
   * list and the end of a start, the process cannot know, and neither can those that have the list
   * from it, unless Redis has it.
   */
  const isAgeKnown = (
    process: Process,
    list: BankList,
    atMs: number,
    // Where lists look alike, a snapshot may have the first one.
    askedAtMs = history.everyAnswerDiffers ? lastAskedMs(list, atMs) : (list.askedAtMs[0] ?? 0),
  ): boolean =>
    !troubled(['redis clock'], 'all', askedAtMs, atMs) &&
    (!history.hasSnapshot ||
      !processes.some(
        ({ index, startedAtMs, readyAtMs, endedAtMs: stoppedAtMs }) =>
          startedAtMs > askedAtMs &&
          startedAtMs <= atMs &&
          troubled(['clock'], index, askedAtMs, Math.min(readyAtMs, stoppedAtMs, atMs)) &&
          !isInRedis(process, list, startedAtMs, atMs),
      ));
  /**
   * Whether `a` has precedence over `b`, by the contract's order: a later decision, then a later
   * question. Undefined where they are too close, or what is known of decisions does not tell.
   */
  const isLater = (a: BankList, b: BankList, atMs: number): boolean | undefined => {
    const [mine, theirs] = [decisions.get(a), decisions.get(b)];
    // Of lists that look alike, both may be without the decision, or only one of them.
    if (!history.everyAnswerDiffers && (mine !== theirs || mine?.atMs === UNKNOWN_DECISION.atMs))
      return undefined;
    if (mine !== theirs) {
      if (mine?.wasNeeded === false || theirs?.wasNeeded === false) return undefined;
      const apartMs = (mine?.atMs ?? -Infinity) - (theirs?.atMs ?? -Infinity);
      return Math.abs(apartMs) < 3 * SECOND ? undefined : apartMs > 0;
    }
    const apartMs = lastAskedMs(a, atMs) - (b.askedAtMs[0] ?? 0);
    // A sleep and a corrected clock each cost an age a part of a second.
    const isShaken = troubled(['sleep', 'clock'], 'all', a.askedAtMs[0] ?? 0, atMs);
    const tolerance = (isShaken ? 3 : 1) * SECOND;
    return Math.abs(apartMs) < tolerance ? undefined : apartMs > 0;
  };

  return {
    ...history,
    troubles,
    longestRetryMs: longestRetryOf,
    isAgeKnown,
    isLater,
    endedAtMs,
    servingsOf: (process: Process): readonly Serving[] => servingsOf.get(process) ?? [],
    reportsOf: (process: Process): readonly Report[] => reportsOf.get(process) ?? [],
    callsOf: (process: Process): readonly Call[] => callsOf.get(process) ?? [],
    othersOf: (process: Process): Process[] =>
      processes.filter((other) => other !== process && other.fields === process.fields),
    listAt,
    troubled,
    ranThrough,
    isInOrder,
    isUnanswered,
    wasSpoilt,
    wasUpgraded,
    isConnected,
    isHealthy,
    leaveAloneUntilMs,
    postponed,
    mayGuardRefuse,
    rememberedSinceMs,
    isOverElsewhere,
    wasTaken,
    askedMsOf,
    decisionOf: (list: BankList): Decision | undefined => decisions.get(list),
  };
};

/** A process gives up a call after PROVIDER_TIMEOUT, and an operator's with all of its repeats. */
export const endOf = ({ refreshes }: Timeline, { endedAtMs, askedAtMs, process }: Call): number => {
  const answeredAtMs = refreshes
    .filter((refresh) => refresh.process === process && refresh.atMs <= askedAtMs)
    .map((refresh) => refresh.endedAtMs ?? Infinity)
    // One that ends just then waited for an earlier call.
    .filter((atMs) => atMs > askedAtMs);
  return Math.min(endedAtMs, askedAtMs + process.timeoutMs, ...answeredAtMs);
};

/** What a process has told of a store, oldest first. */
export const reportsOfStore = (
  { reportsOf }: Timeline,
  process: Process,
  store: StoreName,
): Report[] => reportsOf(process).filter(({ event }) => 'store' in event && event.store === store);

/** Whether a load that was answered with 401 goes on with a token that has just come. */
export const isTriedAgain = ({ callsOf }: Timeline, refused: Call): boolean =>
  refused.failure === 'unauthorized' &&
  callsOf(refused.process).some(
    ({ askedAtMs, token }) =>
      token !== refused.token &&
      askedAtMs >= refused.endedAtMs &&
      askedAtMs < refused.endedAtMs + SECOND / 2,
  );

/** The calls of each fleet. */
export const fleets = ({ calls }: Timeline): Call[][] =>
  FIELDS.map((fields) => calls.filter(({ process }) => process.fields === fields));

/** Whether somebody else's Retry-After is still in force. */
export const isPostponedByAnother = (
  timeline: Timeline,
  calls: readonly Call[],
  than: Call,
  atMs: number,
): boolean =>
  calls.some(
    (call) =>
      call !== than &&
      call.retryAfterMs !== undefined &&
      call.askedAtMs < atMs &&
      timeline.leaveAloneUntilMs(call) > atMs,
  );
