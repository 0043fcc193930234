import { ALL_FIELDS, hasNote, mustBeRefused, type BankList } from '../bank-lists.ts';
import { MINUTE, SECOND } from '../durations.ts';
import { isTroubling, type Call, type Process, type Reading, type Report } from '../history.ts';
import { oncePerPair } from '../per-pair.ts';
import {
  endOf,
  EXACT_MS,
  expiryMs,
  GUARD_FAILURES,
  isTriedAgain,
  lastAskedMs,
  lastUntil,
  lifeMs,
  nameOf,
  reportsOfStore,
  SETTLED_MS,
  STORE,
  windowMs,
  type Check,
  type Timeline,
} from './timeline.ts';

// What operators are told: by /healthz and /readyz, the metrics, the status page and the log.

export const theStateIsThatOfTheAge: Check = function* ({ readings }) {
  for (const { process, atMs, status, isReady } of readings) {
    const { state, ageMs = Infinity, cached } = status;
    const { ttlMs, maxStaleMs } = process;
    const old = ageMs <= ttlMs + maxStaleMs ? 'stale' : 'expired';
    const found = !cached ? 'empty' : ageMs <= ttlMs ? 'fresh' : old;
    if (state !== found || isReady !== ['fresh', 'stale'].includes(found))
      yield [atMs, process, `is ${state}, and ${isReady ? '' : 'not '}ready, at ${ageMs} ms`];
  }
};

export const theLastSuccessIsTold: Check = function* ({ readings, troubled }) {
  for (const { process, atMs, wallMs, status } of readings) {
    const { cached, ageMs } = status;
    if (!cached || ageMs === undefined) continue;
    const wrongMs = wallMs - ageMs - cached.loadedAtWallMs;
    const isShaken = troubled(['clock', 'sleep'], process.index, process.startedAtMs, atMs);
    if (Math.abs(wrongMs) > SECOND && !isShaken)
      yield [atMs, process, `tells a last success that is wrong by ${wrongMs} ms`];
  }
};

export const theContentIsDescribed: Check = function* ({ readings }) {
  for (const { process, atMs, list, status } of readings) {
    if (!list || !status.cached) continue;
    const { count, profile } = status.cached;
    const { size, nameless, numeric } = list.shape;
    const { string, number } = profile.get('code')?.filled ?? {};
    const told = [count, profile.get('name')?.filled.string ?? 0, number, string].join();
    if (told !== [size, size - nameless, numeric, size - numeric].join())
      yield [atMs, process, `tells ${told} of ${nameOf(list)}`];
  }
};

const failureIn = ({ event }: Report) =>
  event.type === 'list-load-failed' || event.type === 'list-load-failed-elsewhere'
    ? event.error
    : undefined;

/** Of this replica or of another one; a snapshot is no news of the provider. */
const isSuccess = ({ event }: Report): boolean =>
  event.type === 'list-renewed' ||
  (event.type === 'list-restored' && event.state === 'fresh' && !event.list.isUnconfirmed);

export const failuresAreToldUntilASuccess: Check = function* (timeline) {
  for (const { process, atMs, wallMs, status } of timeline.readings) {
    const before = timeline.reportsOf(process).filter((report) => report.atMs < atMs);
    const failures = before
      .slice(before.findLastIndex(isSuccess) + 1)
      .filter((report) => failureIn(report));
    const { failing, failure } = status;
    const last = failures.at(-1);
    const now = timeline.reportsOf(process).some((report) => report.atMs === atMs);
    if (now) continue;
    const kind = last && failureIn(last)?.kind;
    if (failure?.kind !== kind) yield [atMs, process, `tells ${failure?.kind}, not ${kind}`];
    // In other replicas they may have begun earlier.
    const told = failing?.attempts ?? 0;
    if (!timeline.hasRedis && told !== failures.length)
      yield [atMs, process, `tells ${told} failures, not ${failures.length}`];
    const [first] = failures;
    if (!failing || !first) continue;
    const lateMs = failing.sinceMs - wallMs - (first.atMs - atMs);
    // Each sleep costs the process's clock a part of a second.
    const hasSlept = timeline.troubled(['sleep'], process.index, first.atMs, atMs);
    const tolerance = hasSlept ? 3 * SECOND : 1;
    if (!timeline.hasRedis && lateMs < -tolerance)
      yield [atMs, process, `tells failures since ${-lateMs} ms before the first one`];
    if (lateMs > tolerance)
      yield [atMs, process, `tells failures since ${lateMs} ms after the first one`];
  }
};

export const aFailureIsReported: Check = function* (timeline) {
  for (const call of timeline.calls) {
    const { process, askedAtMs, failure } = call;
    const atMs = Math.min(call.endedAtMs, askedAtMs + process.timeoutMs);
    const isLate = call.endedAtMs >= askedAtMs + process.timeoutMs;
    // What was left of the time, after other replicas' lists had won, says nothing of the provider.
    const isAgain = (): boolean =>
      timeline
        .callsOf(process)
        .some(
          (other) =>
            other.isForced &&
            other.askedAtMs < askedAtMs &&
            other.askedAtMs > askedAtMs - process.timeoutMs,
        );
    const isRest = call.isForced && (failure === 'timeout' || isAgain());
    if (
      !failure ||
      isRest ||
      isTriedAgain(timeline, call) ||
      !timeline.ranThrough(process, askedAtMs, atMs + SECOND)
    )
      continue;
    const found = timeline
      .reportsOf(process)
      .find((report) => report.atMs >= atMs && report.event.type === 'list-load-failed');
    const kind = found && failureIn(found)?.kind;
    if (
      !found ||
      found.atMs > atMs + SECOND ||
      (kind !== failure && !(isLate && kind === 'timeout'))
    )
      yield [atMs, process, `reports ${kind} of a load that failed as ${failure}`];
    else if (found.event.type === 'list-load-failed') {
      const wrongMs = found.event.durationMs - (found.atMs - askedAtMs);
      if (wrongMs < -SECOND / 2) yield [atMs, process, `reports a duration that is ${wrongMs} off`];
    }
  }
};

export const aTakenListIsReported: Check = function* (timeline) {
  for (const process of timeline.processes)
    for (const [index, { list, fromMs }] of timeline.servingsOf(process).entries()) {
      const before = timeline.servingsOf(process)[index - 1];
      // A list that another replica's overtakes while an operator waits for it was not the list of all.
      const isAsked = timeline.refreshes.some(
        ({ process: asked, atMs, endedAtMs = Infinity }) =>
          asked === process && atMs <= fromMs && endedAtMs >= fromMs,
      );
      const isUp = timeline.ranThrough(process, fromMs - 1, fromMs + 3 * SECOND);
      if (!list || !before || !isUp || isAsked) continue;
      const reports = timeline
        .reportsOf(process)
        .filter(({ atMs }) => atMs >= fromMs && atMs <= fromMs + 3 * SECOND);
      const isReported = reports.some(
        (report) =>
          report.list === list &&
          (report.previous === before.list || !before.list) &&
          (report.event.type === 'list-renewed'
            ? (report.event.outcome === 'changed') === (report.previous !== list)
            : report.event.type === 'list-restored'),
      );
      if (!isReported) yield [fromMs, process, `reports nothing of ${nameOf(list)}`];
    }
};

/** What each process told at a moment at which all were asked, after each call. */
const rounds = ({ readings, calls }: Timeline) => {
  const all = new Map<number, Map<Process, Reading>>();
  const seen = new Set<Call>();
  for (const reading of readings) {
    const last = lastUntil(calls, ({ askedAtMs }) => askedAtMs < reading.atMs);
    const round = all.get(reading.atMs);
    if (round) round.set(reading.process, reading);
    else if (last && !seen.has(last) && last.endedAtMs + SETTLED_MS < reading.atMs) {
      seen.add(last);
      all.set(reading.atMs, new Map([[reading.process, reading]]));
    }
  }
  return all;
};

/** Who shares lists with a process at a moment, itself included; undefined: some of it is in doubt. */
const fleetAt = (
  timeline: Timeline,
  process: Process,
  fromMs: number,
  untilMs: number,
): Process[] | undefined => {
  const others = timeline.hasRedis ? timeline.othersOf(process) : [];
  const running = [process, ...others].filter(
    ({ startedAtMs, killedAtMs }) => startedAtMs <= untilMs && killedAtMs >= fromMs,
  );
  const isSteady = running.every((each) =>
    timeline.hasRedis
      ? timeline.isConnected(each, fromMs, untilMs)
      : timeline.ranThrough(each, fromMs, untilMs),
  );
  return isSteady ? running : undefined;
};

export const allTellTheSame: Check = function* (timeline) {
  if (!timeline.hasRedis) return;
  for (const [atMs, round] of rounds(timeline))
    for (const [process, mine] of round)
      for (const [other, theirs] of round) {
        if (other === process || other.fields !== process.fields) continue;
        // Where lists look alike, those that nobody shares any more may be two.
        if (!timeline.everyAnswerDiffers && !mine.isReady) continue;
        const last = timeline.calls.findLast(
          (call) => call.process.fields === process.fields && call.askedAtMs < atMs,
        );
        const endedAtMs = last?.endedAtMs ?? Infinity;
        // All have heard of the last call who ran then.
        const fleet = fleetAt(timeline, process, endedAtMs - 2 * SETTLED_MS, atMs);
        if (!fleet || atMs < endedAtMs + SETTLED_MS || mine.list !== theirs.list) continue;
        // A decision in a snapshot counts once Redis has it too, which deletes lists that are over.
        const isServed = mine.isReady && theirs.isReady;
        // Where a store was troubled, each has counted by itself; and a list may end the failures
        // of one replica, for which it is fresh, and not those of another one.
        const isOneCount =
          process.ttlMs === other.ttlMs && !timeline.troubled(STORE, 'all', 0, atMs);
        const [some, others] = [mine, theirs].map(({ status: { cached, failing, failure } }) =>
          [
            cached?.hasNextPage,
            isServed && cached?.decisions[0]?.requestId,
            failure?.kind,
            isOneCount && failing?.attempts,
          ].join(),
        );
        if (some !== others) yield [atMs, process, `tells ${some}, and ${other.name} ${others}`];
        // A Retry-After, and the end of a list, count by the CACHE_TTL of each, and a Retry-After by
        // whether it has a list to serve.
        const dueMs = [mine, theirs].map(({ status }) => status.failing && status.nextLoadInMs);
        const apartMs = Math.abs((dueMs[0] || NaN) - (dueMs[1] || NaN));
        if (
          apartMs > SECOND &&
          process.ttlMs === other.ttlMs &&
          mine.isReady === theirs.isReady &&
          !mayRetryAfterBeOver(timeline, process, atMs)
        )
          yield [atMs, process, `tells a load in ${dueMs[0]} ms, and ${other.name} in ${dueMs[1]}`];
        const [forMs = 0, theirsMs = 0] = [mine, theirs].map(({ wallMs, status: { failing } }) =>
          failing ? wallMs - failing.sinceMs : 0,
        );
        const fromMs = atMs - Math.max(forMs, theirsMs);
        // Where they could not share them, the failures began apart.
        const isShaken =
          timeline.troubled(['redis'], 'all', fromMs - SECOND, atMs) ||
          hasRestored(timeline, process, fromMs - SETTLED_MS, atMs);
        if (Math.abs(forMs - theirsMs) > SETTLED_MS && !isShaken)
          yield [atMs, process, `tells failures for ${forMs} ms, ${other.name} for ${theirsMs} ms`];
      }
};

/**
 * Whether a replica of this fleet has started in this time, perhaps with a fresh list from its
 * snapshot: to that one earlier failures are over.
 */
const hasRestored = (
  { hasSnapshot, processes }: Timeline,
  { fields }: Process,
  fromMs: number,
  toMs: number,
): boolean =>
  hasSnapshot &&
  processes.some(
    ({ fields: theirs, startedAtMs }) =>
      theirs === fields && startedAtMs > fromMs && startedAtMs < toMs,
  );

/**
 * Whether a list came soon after a Retry-After that would still hold. It ends that for whoever
 * loaded it; the others cannot tell whether it was asked for before.
 */
const mayRetryAfterBeOver = ({ calls }: Timeline, { fields }: Process, atMs: number): boolean =>
  calls.some(
    (told) =>
      told.process.fields === fields &&
      told.endedAtMs + (told.retryAfterMs ?? 0) > atMs &&
      calls.some(
        ({ process, deliveredAtMs }) =>
          process.fields === fields &&
          deliveredAtMs > told.askedAtMs &&
          deliveredAtMs < told.endedAtMs + process.timeoutMs + SECOND,
      ),
  );

export const theNextLoadIsTold: Check = function* (timeline) {
  for (const [atMs, round] of rounds(timeline))
    for (const process of round.keys()) {
      const readings = [process, ...timeline.othersOf(process)].flatMap((each) =>
        timeline.hasRedis || each === process ? (round.get(each) ?? []) : [],
      );
      const told = Math.min(...readings.map(({ status }) => status.nextLoadInMs || -Infinity));
      const dueMs = atMs + told;
      // A sleep and a corrected clock each cost a part of a second.
      const isExact =
        !timeline.hasRedis &&
        !timeline.troubled(['sleep', 'clock'], process.index, process.startedAtMs, dueMs);
      const [early, late] = isExact ? [EXACT_MS, EXACT_MS] : [SECOND / 2, SECOND];
      if (told < 0 || dueMs + late > timeline.endedAtMs) continue;
      const fleet = fleetAt(timeline, process, atMs - SETTLED_MS, dueMs + late);
      const calls = timeline.calls.filter((call) => fleet?.includes(call.process));
      const isBusy = calls.some(
        (call) => call.askedAtMs <= atMs && call.endedAtMs > atMs - SETTLED_MS,
      );
      if (!fleet || fleet.length > readings.length || isBusy) continue;
      const next = calls.find(({ askedAtMs }) => askedAtMs > atMs);
      if (next?.isForced) continue;
      const nextMs = next?.askedAtMs ?? Infinity;
      if (nextMs < dueMs - early || nextMs > dueMs + late)
        yield [atMs, process, `tells a load in ${told} ms, and it is made after ${nextMs - atMs}`];
    }
};

/** Which call a report is about. */
const callOf = ({ callsOf }: Timeline, { process, atMs }: Report): Call | undefined =>
  callsOf(process).findLast((call) => call.deliveredAtMs <= atMs);

export const anAnswerIsDescribed: Check = function* (timeline) {
  for (const report of timeline.reports) {
    const { event, process, atMs, list } = report;
    if (event.type !== 'list-renewed') continue;
    const call = callOf(timeline, report);
    if (!call || call.list !== list) continue;
    const { rejected, hasNextPage } = event.list;
    const counts = Object.entries(rejected).filter(([, count]) => count > 0);
    const told = JSON.stringify([hasNextPage, Object.fromEntries(counts)]);
    const found = JSON.stringify([call.hasNextPage, call.rejected]);
    if (told !== found) yield [atMs, process, `tells ${told}, not ${found}`];
  }
};

/** Also by those who have the list from Redis or from a snapshot. */
export const aStoredListIsDescribed: Check = function* (timeline) {
  const { readings, calls, everyAnswerDiffers, wasUpgraded } = timeline;
  if (!everyAnswerDiffers) return;
  const callsBy = new Map(calls.map((call) => [call.list, call]));
  for (const { process, atMs, list, status } of readings) {
    const call = list && callsBy.get(list);
    // The previous release did not save that.
    if (!call || !status.cached || wasUpgraded(call.askedAtMs, process.startedAtMs)) continue;
    const { rejected, hasNextPage } = status.cached;
    const counts = Object.entries(rejected).filter(([, count]) => count > 0);
    const told = JSON.stringify([hasNextPage, Object.fromEntries(counts)]);
    const found = JSON.stringify([call.hasNextPage, call.rejected]);
    if (told !== found) yield [atMs, process, `tells ${told}, not ${found}, of ${nameOf(list)}`];
  }
};

export const theLastFailureIsTold: Check = function* (timeline) {
  for (const { process, atMs, status } of timeline.readings) {
    const reports = timeline.reportsOf(process).filter((report) => report.atMs <= atMs);
    if (reports.at(-1)?.atMs === atMs) continue;
    const last = reports.findLast((report) => failureIn(report));
    const kind = last && failureIn(last)?.kind;
    const told = status.lastFailure;
    if (told?.kind !== kind)
      yield [atMs, process, `tells ${told?.kind} as the last failure, not ${kind}`];
    if (told && last && Math.abs(told.atMs - last.wallMs) > SECOND)
      yield [atMs, process, `tells a last failure at ${told.atMs}, not ${last.wallMs}`];
  }
};

/** Also where somebody has written into the lease who could. */
export const failuresAreThoseOfTheProvider: Check = function* (timeline) {
  for (const { process, atMs, event } of timeline.reports) {
    const isElsewhere = event.type === 'list-load-failed-elsewhere';
    if (event.type !== 'list-load-failed' && !isElsewhere) continue;
    const { kind } = event.error;
    // What is wrong with its file, a replica tells no other one.
    const isLocal =
      kind === 'no_token' &&
      !isElsewhere &&
      timeline.troubled(['sleep'], process.index, atMs - SECOND, atMs);
    const isCaused = timeline.calls.some(
      (call) =>
        (isElsewhere ? call.process.fields === process.fields : call.process === process) &&
        call.askedAtMs <= atMs &&
        // A time-out, and what the guard says, are of the replica that loaded.
        (call.failure === kind ||
          kind === 'timeout' ||
          (call.list !== undefined && GUARD_FAILURES.includes(kind))),
    );
    if (!isCaused && !isLocal) yield [atMs, process, `tells ${kind}, which nobody has had`];
  }
};

export const isSharedIsTrue: Check = function* (timeline) {
  for (const { process, atMs, list, status, isReady } of timeline.readings) {
    const { isShared } = status;
    if ((isShared !== undefined) !== timeline.hasRedis)
      yield [atMs, process, `tells that it is shared: ${isShared}`];
    if (!list || !timeline.everyAnswerDiffers || isShared === undefined) continue;
    const writes = timeline.writes.filter(({ call }) => call.list === list);
    const isWritten = writes.some((write) => write.atMs <= atMs);
    if (isShared && !isWritten) yield [atMs, process, `tells that it shares ${nameOf(list)}`];
    const sinceMs = Math.max(process.readyAtMs, lastAskedMs(list, atMs)) - SETTLED_MS;
    // A damaged list is replaced within a minute, also by whoever has replaced many.
    const isLost = timeline.troubles.some((trouble) => {
      const isDamage = trouble.what === 'spoilt';
      const fromMs = isDamage ? atMs - MINUTE - SETTLED_MS : Math.min(sinceMs, atMs - MINUTE);
      return (
        STORE.some((kind) => kind === trouble.kind) && isTroubling(trouble, 'all', fromMs, atMs)
      );
    });
    const isSettled =
      isReady &&
      timeline.listAt(process, atMs - SETTLED_MS) === list &&
      timeline.isConnected(process, atMs - SETTLED_MS, atMs) &&
      !isLost;
    if (!isShared && isSettled)
      yield [atMs, process, `tells that it does not share ${nameOf(list)}`];
  }
};

export const aLoadIsTold: Check = function* (timeline) {
  for (const { process, atMs, status } of timeline.readings) {
    if (process.endedAtMs <= atMs) continue;
    if (timeline.troubled(['sleep'], process.index, atMs - 2 * SETTLED_MS, atMs)) continue;
    // No earlier one can matter any more.
    const sinceMs = atMs - SETTLED_MS - process.timeoutMs;
    // The file with the token is read before.
    const calls = timeline
      .callsOf(process)
      .filter(({ askedAtMs }) => askedAtMs <= atMs + EXACT_MS && askedAtMs >= sinceMs);
    const isLoading = calls.some((call) => call.askedAtMs < atMs && endOf(timeline, call) > atMs);
    // The list of an answer is compressed, and written to Redis.
    const mayLoad = calls.some((call) => endOf(timeline, call) >= atMs - SETTLED_MS);
    if (isLoading && !status.isLoading) yield [atMs, process, 'does not tell that it loads'];
    if (status.isLoading && !mayLoad) yield [atMs, process, 'tells that it loads'];
  }
};

export const theStoreIsTold: Check = function* (timeline) {
  for (const process of timeline.processes) {
    const { restoredFrom: told, readyAtMs, startedAtMs, index } = process;
    if (readyAtMs === Infinity) continue;
    const list = timeline.listAt(process, readyAtMs);
    const isConfigured =
      told === undefined || (told === 'CACHE_REDIS_URL' ? timeline.hasRedis : timeline.hasSnapshot);
    const isEarlier = (other: Process): boolean =>
      other.index === index && other.startedAtMs < startedAtMs;
    // One that is stopping serves nothing, and still saves what it has taken.
    const wasHere = timeline.reports.some(
      (report) => report.list === list && isEarlier(report.process),
    );
    const isOfOthers = timeline.everyAnswerDiffers && list !== undefined && !wasHere;
    if (!isConfigured || (list && !told) || (isOfOthers && told !== 'CACHE_REDIS_URL'))
      yield [readyAtMs, process, `says that ${told} had ${nameOf(list)}`];
  }
};

const FIELDS_CHANGED = "list: the provider's fields changed";

/** Told by whoever has received both answers. */
export const changesOfFieldsAreLogged: Check = function* (timeline) {
  if (!timeline.everyAnswerDiffers) return;
  for (const process of timeline.processes) {
    if (process.fields === ALL_FIELDS) continue;
    let before: Call | undefined;
    for (const report of timeline.reportsOf(process)) {
      if (report.event.type !== 'list-renewed') continue;
      const call = timeline.callsOf(process).find(({ list }) => list && list === report.list);
      const first = before;
      before = call;
      if (!call || !first) continue;
      // What came between was refused, or was an operator's, and overtaken.
      const isNext = !timeline
        .callsOf(process)
        .some(({ number, list }) => list && number > first.number && number < call.number);
      if (!isNext) continue;
      const line = report.lines.find(({ msg }) => msg === FIELDS_CHANGED);
      const told = ['fieldsAppeared', 'fieldsVanished'].map((name) =>
        JSON.stringify(line?.[name] ?? []).includes('note'),
      );
      const [had, has] = [hasNote(first.number), hasNote(call.number)];
      if (told.join() !== [has && !had, had && !has].join())
        yield [report.atMs, process, `logs ${JSON.stringify(line)} after ${first.number}`];
    }
  }
};

export const aRefusalHasAReason: Check = function* (timeline) {
  for (const report of timeline.reports) {
    const { event, process, atMs } = report;
    if (event.type !== 'list-load-failed') continue;
    const { kind, message } = event.error;
    if (kind !== 'shrunk' && kind !== 'drifted') continue;
    const { list, askedAtMs = 0 } = callOf(timeline, report) ?? {};
    const isSize = kind === 'drifted' || message.includes(` to ${list?.shape.size} entr`);
    // What an operator has accepted is the measure of what follows, whatever was before.
    const current = timeline.listAt(process, askedAtMs);
    const decision = current && timeline.decisionOf(current);
    const forgotten = forgottenBy(timeline, process, askedAtMs);
    const isRight =
      list &&
      isSize &&
      !mayComeBack(timeline, process, list, askedAtMs) &&
      timeline.mayGuardRefuse(
        process,
        list,
        atMs,
        ({ list: measure }) =>
          measure !== undefined &&
          !forgotten.has(measure) &&
          (!timeline.everyAnswerDiffers ||
            !decision?.wasNeeded ||
            timeline.decisionOf(measure) === decision),
      );
    if (!isRight) yield [atMs, process, `refuses ${nameOf(list)}: ${message}`];
  }
};

/** Whether a process has served the list in the window before a call, and must remember it. */
const mayComeBack = (
  timeline: Timeline,
  process: Process,
  list: BankList,
  atMs: number,
): boolean => {
  const served = timeline.servingsOf(process).filter(({ fromMs }) => fromMs <= atMs);
  const last = served.findLastIndex((serving) => serving.list === list);
  const sinceMs = served[last]?.untilMs ?? -Infinity;
  const since = served.slice(last + 1);
  // Where another list has come back, those between are forgotten. So many are remembered.
  const areNew = since.every(
    ({ list: next }) => next && !wasServed(timeline, next, served[last]?.fromMs ?? 0),
  );
  const isAccepted = hasAccepted(timeline, sinceMs - MINUTE, atMs);
  // What is over is forgotten. It is served until the next list has been compressed.
  const wasOver = timeline.askedMsOf(process, list, sinceMs) + lifeMs(process) <= sinceMs;
  // Where histories meet, the guard has decided between them.
  const isOneHistory =
    !timeline.hasRedis ||
    !timeline.troubled([...STORE, 'process', 'sleep'], 'all', sinceMs - SETTLED_MS, atMs);
  return (
    sinceMs > atMs - windowMs(process) + SECOND &&
    since.length <= 10 &&
    areNew &&
    !wasOver &&
    !isAccepted &&
    isOneHistory
  );
};

/**
 * The lists that a process served between two times of one list, which has come back: it forgets
 * them.
 */
const forgottenBy = (timeline: Timeline, process: Process, atMs: number) => {
  const served = timeline.servingsOf(process).filter(({ fromMs }) => fromMs <= atMs);
  const current = served.at(-1);
  const first = served.findIndex(({ list }) => list === current?.list);
  const { fromMs = 0, untilMs = 0 } = served[first] ?? {};
  const sinceMs = fromMs - SETTLED_MS;
  const isRemembered = untilMs > (current?.fromMs ?? 0) - windowMs(process) + SECOND;
  const isAccepted = hasAccepted(timeline, sinceMs, atMs);
  // What meets another history gets its memory too.
  const isOneHistory = timeline.hasRedis
    ? !timeline.troubled([...STORE, 'process', 'sleep'], 'all', sinceMs, atMs)
    : timeline.ranThrough(process, sinceMs, atMs);
  const between = served.slice(first + 1, -1).map(({ list }) => list);
  // Where one of them has come back itself, the current list was forgotten then.
  const areNew = between.every((list) => list && !wasServed(timeline, list, fromMs));
  const isCertain = isRemembered && areNew && !isAccepted && isOneHistory && between.length <= 10;
  return new Set(isCertain ? between : []);
};

/** Whether a list had been served by then: what others served is remembered too. */
const wasServed = ({ servings }: Timeline, list: BankList, byMs: number): boolean =>
  servings.some((serving) => serving.list === list && serving.fromMs <= byMs);

/** Whether an operator has asked to accept a list in this time. */
const hasAccepted = ({ refreshes }: Timeline, sinceMs: number, untilMs: number): boolean =>
  refreshes.some(({ accepts, atMs }) => accepts.length > 0 && atMs > sinceMs && atMs <= untilMs);

const ACCEPTED = 'list: accepted by an operator';

export const anAcceptanceIsLogged: Check = function* (timeline) {
  for (const { process, atMs, lines } of timeline.reports)
    for (const { msg, requestId, reasons } of lines) {
      const asked = timeline.refreshes.find(({ id }) => id === requestId);
      const isAccepted = [reasons]
        .flat()
        .every((each) => asked?.accepts.some((one) => one === each));
      if (msg === ACCEPTED && !isAccepted)
        yield [atMs, process, `logs that ${String(requestId)} has accepted ${String(reasons)}`];
    }
  // Where lists look alike, one may be a return to one before, which nobody has to accept.
  for (const report of timeline.everyAnswerDiffers ? timeline.reports : []) {
    const { process, atMs, event, list, previous, lines } = report;
    if (event.type !== 'list-renewed' || !list || !previous || list === previous) continue;
    const isForced = callOf(timeline, report)?.isForced;
    const isNeeded = isForced && mustBeRefused(previous.shape, list.shape);
    const isOver =
      expiryMs(process, previous, atMs) < atMs + 3 * SECOND ||
      !timeline.isAgeKnown(process, previous, atMs);
    if (isNeeded && !isOver && !lines.some(({ msg }) => msg === ACCEPTED))
      yield [atMs, process, `does not log that somebody has accepted ${nameOf(list)}`];
  }
};

/** None is there twice. */
const entriesOf = (list: BankList): Set<string> =>
  new Set(JSON.parse(list.json).map((each: unknown) => JSON.stringify(each)));

const changesBetween = oncePerPair((previous: BankList, list: BankList) => {
  const [before, after] = [entriesOf(previous), entriesOf(list)];
  const added = [...after].filter((entry) => !before.has(entry)).length;
  const removed = [...before].filter((entry) => !after.has(entry)).length;
  const isLarge = Math.max(removed, after.size - before.size) * 5 > before.size;
  return { added, removed, isLarge, isAny: previous.json !== list.json, count: after.size };
});

export const changesAreLogged: Check = function* (timeline) {
  for (const { process, atMs, event, list, previous, lines } of timeline.reports) {
    if (event.type !== 'list-renewed' || !list || !previous) continue;
    const { added, removed, isLarge, isAny, count } = changesBetween(previous, list);
    const msg = isLarge ? 'list: changed by more than GUARD_MAX_SHRINK' : 'list: changed';
    const line = lines.find((each) => String(each['msg']).startsWith('list: changed'));
    const told = line ? [line['msg'], line['added'], line['removed'], line['count']].join() : '';
    const found = isAny ? [msg, added, removed, count].join() : '';
    if (told !== found) yield [atMs, process, `logs "${told}", not "${found}"`];
  }
};

/** From when a list is compared until it is reported: it is compressed, and written to Redis. */
const REPORTED_MS = 5 * SECOND;

interface Change {
  readonly atMs: number;
  readonly wallMs: number;
}

/**
 * Those that were reported, and those that were served: a list that another replica's replaces at
 * once is not reported.
 */
const largeChangesOf = (timeline: Timeline, process: Process): readonly Change[] => {
  const reported = timeline
    .reportsOf(process)
    .filter(
      ({ event: { type }, list, previous }) =>
        (type === 'list-renewed' || type === 'list-restored') &&
        list &&
        previous &&
        changesBetween(previous, list).isLarge,
    );
  const served = timeline
    .servingsOf(process)
    .flatMap(({ list, fromMs, wallFromMs }, index, all) => {
      const before = all.slice(0, index).findLast((serving) => serving.list)?.list;
      const isLarge = list && before && changesBetween(before, list).isLarge;
      return isLarge ? [{ atMs: fromMs, wallMs: wallFromMs }] : [];
    });
  return [...reported, ...served].toSorted((one, later) => one.atMs - later.atMs);
};

export const theLastLargeChangeIsTold: Check = function* (timeline) {
  for (const process of timeline.processes) {
    const changes = largeChangesOf(timeline, process);
    for (const { atMs, status } of timeline.readings.filter((each) => each.process === process)) {
      if (!status.cached) continue;
      const toldMs = status.cached.largeChange?.atMs ?? -Infinity;
      const isOf = (change: Change | undefined): boolean => {
        if (!change) return toldMs === -Infinity;
        const lateMs = change.wallMs - toldMs;
        const fromMs = change.atMs - REPORTED_MS;
        const isShaken = timeline.troubled(['clock', 'sleep'], process.index, fromMs, change.atMs);
        return (lateMs >= 0 && lateMs < REPORTED_MS) || (isShaken && toldMs > -Infinity);
      };
      const last = changes.findLast((change) => change.atMs < atMs);
      const isOfNext = changes.some(
        (change) => change.atMs >= atMs && change.atMs < atMs + REPORTED_MS && isOf(change),
      );
      if (!isOf(last) && !isOfNext)
        yield [atMs, process, `tells a large change at ${toldMs}, not ${last?.wallMs}`];
    }
  }
};

export const lastModifiedGoesOn: Check = function* (timeline) {
  for (const { process, atMs, wallMs, event, list, previous } of timeline.reports) {
    if (event.type !== 'list-renewed' && event.type !== 'list-restored') continue;
    const [now, before] = [event.list.changedAtMs, event.previous?.changedAtMs ?? -Infinity];
    const least = before + SECOND;
    const isShaken = timeline.troubled(['clock', 'sleep'], process.index, atMs - 5 * SECOND, atMs);
    const isRight =
      list === previous
        ? now === before
        : now >= least &&
          (now === least || now <= wallMs || isShaken) &&
          (event.type === 'list-restored' ||
            now === least ||
            now > wallMs - 5 * SECOND ||
            isShaken);
    if (!isRight) yield [atMs, process, `says Last-Modified ${now} at ${wallMs}, after ${before}`];
  }
};

/** How far a machine's clock is from true time. */
const wrongByMs = ({ wallMs, atMs }: Report): number => wallMs - atMs;

/** A store has it from whoever has loaded the list, or had the same content before. */
export const lastModifiedComesWithTheList: Check = function* (timeline) {
  const told = new Map<BankList, Report[]>();
  for (const report of timeline.reports) {
    if (!report.list) continue;
    const reports = told.get(report.list) ?? [];
    told.set(report.list, reports);
    reports.push(report);
  }
  for (const [list, reports] of told)
    for (const report of reports) {
      const { process, atMs, event, previous } = report;
      if (event.type !== 'list-restored' || list === previous) continue;
      const { changedAtMs } = event.list;
      // Nothing has changed in the future, by the clock of whoever tells it.
      const isOneClock = timeline.processes.every(
        ({ startedWallMs, startedAtMs }) =>
          Math.abs(startedWallMs - startedAtMs - wrongByMs(report)) < EXACT_MS,
      );
      if (!isOneClock || timeline.troubled(['clock', 'sleep'], 'all', 0, atMs)) continue;
      const others = reports.flatMap(({ process: other, event: theirs }) =>
        other !== process && 'list' in theirs ? theirs.list.changedAtMs : [],
      );
      const least = (event.previous?.changedAtMs ?? -Infinity) + SECOND;
      // Where lists come faster than every second, it is ahead of the list. What Redis takes for an
      // answer is missing in the time at which the list came.
      const cameAtMs = wrongByMs(report) + (list.deliveredAtMs.at(-1) ?? 0);
      const isTold = others.some(
        (theirs) => Math.abs(Math.min(theirs, cameAtMs) - changedAtMs) < SECOND,
      );
      if (others.length > 0 && !isTold && changedAtMs !== least)
        yield [atMs, process, `says Last-Modified ${changedAtMs}, not ${others[0]}`];
    }
};

/** While a store fails for so long, somebody has used it. */
const NOTICED_MS = 10 * SECOND;

export const aFailingStoreIsReported: Check = function* (timeline) {
  for (const { what, who, fromMs, untilMs } of timeline.troubles)
    for (const process of timeline.processes) {
      const isHit = who === 'all' || who === process.index;
      const isBroken = what !== undefined && ['refuses connections', 'is loading'].includes(what);
      const atMs = fromMs + NOTICED_MS;
      // Of two, the second one ends both.
      const same = timeline.troubles.filter(
        (other) => other.what === what && other.fromMs <= atMs && other.untilMs >= fromMs,
      );
      if (
        !isHit ||
        !isBroken ||
        same.length > 1 ||
        untilMs < atMs ||
        !timeline.ranThrough(process, fromMs, atMs)
      )
        continue;
      const last = reportsOfStore(timeline, process, 'CACHE_REDIS_URL').findLast(
        (report) => report.atMs <= atMs,
      );
      if (timeline.hasRedis && last?.event.type !== 'store-failed')
        yield [atMs, process, `does not say that Redis ${what}`];
    }
};

const STORE_NAMES = ['CACHE_REDIS_URL', 'CACHE_SNAPSHOT_FILE'] as const;

export const aStoreRecoversOnceFromAFailure: Check = function* (timeline) {
  for (const process of timeline.processes)
    for (const store of STORE_NAMES) {
      let isFailing = false;
      for (const { event, atMs } of reportsOfStore(timeline, process, store)) {
        if (event.type === 'store-failed') isFailing = true;
        if (event.type !== 'store-recovered') continue;
        if (!isFailing) yield [atMs, process, `says that ${store} works again, which had worked`];
        isFailing = false;
      }
    }
};

export const storesWork: Check = function* (timeline) {
  for (const process of timeline.processes) {
    const reports = timeline.reportsOf(process);
    for (const { event, atMs } of reports) {
      if (event.type !== 'store-failed') continue;
      const kinds = event.store === 'CACHE_REDIS_URL' ? STORE : (['disk'] as const);
      const sinceMs = atMs <= process.readyAtMs ? 0 : atMs - SETTLED_MS;
      // A list that was spoilt is found when somebody reads it, however late, but only once.
      const mayBeSpoilt = timeline.troubled(['silent redis'], 'all', 0, atMs);
      const before = reportsOfStore(timeline, process, event.store).filter(
        (report) => report.atMs < atMs,
      );
      const [found, mended] = before.slice(-2);
      const isFoundAgain =
        found?.event.type === 'store-failed' &&
        mended?.event.type === 'store-recovered' &&
        found.event.reason === event.reason &&
        !timeline.troubled(kinds, process.index, found.atMs, atMs);
      if (mayBeSpoilt && event.reason.endsWith('ignored') && !isFoundAgain) continue;
      if (!timeline.troubled([...kinds, 'sleep'], process.index, sinceMs, atMs))
        yield [atMs, process, `says that ${event.store} ${event.reason}`];
    }
    for (const store of STORE_NAMES) {
      const untilMs = Math.min(process.endedAtMs, timeline.endedAtMs) - 1;
      const last = reportsOfStore(timeline, process, store).findLast(
        ({ event, atMs }) => atMs <= untilMs && event.type !== 'store-empty',
      );
      const kinds = store === 'CACHE_REDIS_URL' ? STORE : (['disk'] as const);
      // A few unreadable lists are replaced in a minute.
      const isCalm =
        !timeline.wasSpoilt(untilMs - MINUTE - SETTLED_MS, untilMs) &&
        timeline.ranThrough(process, untilMs - 4 * SETTLED_MS, untilMs) &&
        !timeline.troubled(kinds, process.index, untilMs - 4 * SETTLED_MS, untilMs);
      const isUnusable =
        last?.event.type === 'store-failed' && last.event.reason.endsWith('ignored');
      // A saved list that cannot be used is written again with the next list.
      const isUsed =
        (store === 'CACHE_REDIS_URL' && !isUnusable) ||
        reports.some(
          (report) =>
            report.atMs > (last?.atMs ?? 0) &&
            report.atMs < untilMs - SETTLED_MS &&
            'list' in report.event,
        );
      if (isCalm && isUsed && last?.event.type === 'store-failed')
        yield [untilMs, process, `still says that ${store} ${last.event.reason}`];
    }
  }
};
