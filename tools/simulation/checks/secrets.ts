import { SECOND } from '../durations.ts';
import type { Holding, Process } from '../history.ts';
import { isSignedWith, SECRET_NAMES, type SecretName } from '../secret-files.ts';
import { heldIn } from './secret-troubles.ts';
import { STORE, type Check, type Timeline } from './timeline.ts';

// How secrets in files are used: docs/operations.md, "Secret files" and "Rotating a secret".

/** From when a file is read until what is in it has been used, or told. */
const USED_MS = 1.5 * SECOND;
/** The same where it connects to Redis in between. */
const STORED_MS = 6 * SECOND;

/** What the file of a process held in this time, the earliest first; empty: it has none. */
const heldBy = (
  { holdings }: Timeline,
  { index }: Process,
  name: SecretName,
  fromMs: number,
  untilMs: number,
): Holding['secret'][] => {
  const all = heldIn(holdings, index, name);
  return all
    .filter((each, at) => each.fromMs <= untilMs && (all[at + 1]?.fromMs ?? Infinity) >= fromMs)
    .map(({ secret }) => secret);
};

export const aTokenIsThatOfItsFile: Check = function* (timeline) {
  for (const { process, askedAtMs, token } of timeline.calls) {
    const held = (fromMs: number): Holding['secret'][] =>
      heldBy(timeline, process, 'PROVIDER_ACCESS_TOKEN', fromMs, askedAtMs);
    const now = held(askedAtMs - USED_MS);
    if (now.length === 0) continue;
    // The last usable one stays in use.
    const allowed = now.includes(undefined) ? held(process.startedAtMs) : now;
    if (timeline.troubled(['sleep'], process.index, askedAtMs - USED_MS, askedAtMs)) continue;
    if (!allowed.includes(token)) yield [askedAtMs, process, `calls with the token ${token}`];
  }
};

export const aSnapshotIsSignedWithTheKeyOfItsFile: Check = function* (timeline) {
  for (const process of timeline.processes) {
    const { snapshot, startedAtMs, readyAtMs } = process;
    if (process.restoredFrom !== 'CACHE_SNAPSHOT_FILE' || !snapshot) continue;
    const keys = heldBy(timeline, process, 'CACHE_SIGNING_KEY', startedAtMs, readyAtMs);
    if (keys.length > 0 && !keys.some((key) => key !== undefined && isSignedWith(snapshot, key)))
      yield [startedAtMs, process, 'restores what is not signed with its key'];
  }
};

/** Whether a file has not been usable for the whole time; undefined: for a part of it, or no file. */
const isUnusable = (
  timeline: Timeline,
  process: Process,
  name: SecretName,
  during: readonly [number, number],
): boolean | undefined => {
  const held = heldBy(timeline, process, name, ...during);
  if (held.length === 0) return undefined;
  if (held.every((secret) => secret === undefined)) return true;
  // An address that does not work is told like an unusable file.
  const mayNotWork =
    name === 'CACHE_REDIS_URL' &&
    timeline.troubled([...STORE, 'secret'], process.index, 0, during[1]);
  return held.includes(undefined) || mayNotWork ? undefined : false;
};

export const anUnusableFileIsTold: Check = function* (timeline) {
  for (const { process, atMs, unusableFiles } of timeline.readings) {
    const fromMs = atMs - USED_MS;
    if (!timeline.ranThrough(process, Math.max(fromMs, process.readyAtMs), atMs)) continue;
    for (const name of SECRET_NAMES) {
      const isTold = unusableFiles.includes(`${name}_FILE`);
      if ((isUnusable(timeline, process, name, [fromMs, atMs]) ?? isTold) !== isTold)
        yield [atMs, process, `says that the file of ${name} is ${isTold ? 'un' : ''}usable`];
    }
  }
};

export const aRefreshNamesUnusableFiles: Check = function* (timeline) {
  for (const { process, atMs, problems } of timeline.refreshes) {
    // It connects to Redis between reading the files and loading.
    const fromMs = atMs - STORED_MS;
    if (!timeline.ranThrough(process, Math.max(fromMs, process.readyAtMs), atMs)) continue;
    for (const name of SECRET_NAMES) {
      const isTold = problems.some((problem) => problem.startsWith(`${name}_FILE`));
      if ((isUnusable(timeline, process, name, [fromMs, atMs]) ?? isTold) !== isTold)
        yield [atMs, process, `answers a refresh with ${JSON.stringify(problems)}`];
    }
  }
};
