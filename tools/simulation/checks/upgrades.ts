import { SECOND } from '../durations.ts';
import type { Inherited } from '../history.ts';
import { lastAskedMs, lifeMs, nameOf, SETTLED_MS, STORE, type Check } from './timeline.ts';

// What is left of what the previous release has saved: docs/operations.md, "Upgrading and
// restarting".

export const anUpgradeKeepsTheList: Check = function* (timeline) {
  if (!timeline.everyAnswerDiffers) return;
  const { inherited, processes, listAt, troubled } = timeline;
  for (const process of processes) {
    const { index, fields, startedAtMs, readyAtMs } = process;
    const atMs = inherited.findLast((each) => each.atMs < startedAtMs)?.atMs;
    if (atMs === undefined || readyAtMs === Infinity) continue;
    const isFirst = !processes.some(
      (other) =>
        other.index === index && other.startedAtMs > atMs && other.startedAtMs < startedAtMs,
    );
    const ofFleet = inherited.filter(
      (each) => each.atMs === atMs && each.call.process.fields === fields,
    );
    const list = listAt(process, readyAtMs);
    const ignored = ofFleet.find(({ call, isIgnored }) => isIgnored && call.list === list);
    if (list && ignored) yield [readyAtMs, process, `serves ${nameOf(list)}, which is not signed`];
    if (!isFirst || troubled(['sleep'], index, atMs, readyAtMs)) continue;
    const isReadable = ({ where, call, isIgnored }: Inherited): boolean =>
      !isIgnored &&
      (where === 'redis' || where === index) &&
      call.list !== undefined &&
      lastAskedMs(call.list, atMs) + lifeMs(process) > readyAtMs + 3 * SECOND &&
      timeline.isAgeKnown(process, call.list, readyAtMs) &&
      !(where === 'redis'
        ? troubled(STORE, 'all', atMs + 1, readyAtMs)
        : troubled(['disk'], index, atMs + 1, readyAtMs));
    const found = ofFleet.find(isReadable);
    // Another replica may have brought a later one.
    const isOne =
      list &&
      (lastAskedMs(list, readyAtMs) > atMs || ofFleet.some(({ call }) => call.list === list));
    if (found && !isOne)
      yield [readyAtMs, process, `finds ${nameOf(found.call.list)}, and serves ${nameOf(list)}`];
    // It is shared as this release does.
    const soonMs = readyAtMs + SETTLED_MS;
    const isWritten = timeline.writes.some(
      ({ atMs: writtenMs, call }) =>
        writtenMs > atMs && writtenMs < soonMs && call.process.fields === fields,
    );
    const isShared =
      timeline.isConnected(process, readyAtMs, soonMs) &&
      !troubled(STORE, 'all', startedAtMs, soonMs);
    if (isShared && list && listAt(process, soonMs) && !isWritten)
      yield [soonMs, process, `has ${nameOf(list)}, and Redis has none`];
  }
};

/** By every replica, as long as it serves the list. */
export const anUpgradeKeepsTheDecision: Check = function* (timeline) {
  if (!timeline.everyAnswerDiffers) return;
  const { inherited, readings } = timeline;
  for (const { process, atMs, list, status } of readings) {
    const saved = inherited.filter(
      ({ call, atMs: upgradedAtMs }) => call.list === list && upgradedAtMs < process.startedAtMs,
    );
    const [first] = saved;
    if (!first || !status.cached || saved.some(({ requestId }) => requestId !== first.requestId))
      continue;
    const told = status.cached.decisions[0]?.requestId;
    if (told !== first.requestId)
      yield [atMs, process, `tells ${told}, not ${first.requestId}, of ${nameOf(list)}`];
  }
};
