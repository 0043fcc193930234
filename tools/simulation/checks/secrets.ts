import { SECOND } from '../durations.ts';
import type { Holding, Process, Write } from '../history.ts';
import { isSignedWith, SECRET_NAMES, type SecretName } from '../secret-files.ts';
import { nameOf, STORE, type Check, type Timeline } from './timeline.ts';

// How secrets in files are used: docs/operations.md, "Secret files" and "Rotating a secret".

/** From when a file is read until what is in it has been used, or told. */
const USED_MS = 1.5 * SECOND;
/** The same where it goes through Redis, or a list is compressed. */
const STORED_MS = 6 * SECOND;

/** What the file of a process held in this time, the earliest first; empty: it has none. */
const heldBy = (
  { holdings }: Timeline,
  { index }: Process,
  name: SecretName,
  fromMs: number,
  untilMs: number,
): Holding['secret'][] => {
  const all = holdings.filter((each) => each.index === index && each.name === name);
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

const wasSigned = (
  timeline: Timeline,
  process: Process,
  { bytes }: Pick<Write, 'bytes'>,
  [fromMs, untilMs]: readonly [number, number],
): boolean =>
  heldBy(timeline, process, 'CACHE_SIGNING_KEY', fromMs, untilMs).some(
    (key) => key !== undefined && isSignedWith(bytes, key),
  );
/** Whether a process signs with a key in a file. */
const hasKeyFile = ({ holdings }: Timeline, { index }: Process): boolean =>
  holdings.some((each) => each.index === index && each.name === 'CACHE_SIGNING_KEY');

export const whatIsSavedIsSigned: Check = function* (timeline) {
  for (const written of [...timeline.writes, ...timeline.saves]) {
    const { atMs, writer, bytes } = written;
    if (!hasKeyFile(timeline, writer)) continue;
    if (timeline.troubled(['sleep'], writer.index, atMs - STORED_MS, atMs)) continue;
    // What was restored is written back as it was read.
    const isAsRead = timeline.saves.some(
      (save) => save.atMs < atMs && save.writer.index === writer.index && save.bytes.equals(bytes),
    );
    if (!isAsRead && !wasSigned(timeline, writer, written, [atMs - STORED_MS, atMs]))
      yield [atMs, writer, 'saves what is not signed with its key'];
  }
};

export const whatIsRestoredWasSigned: Check = function* (timeline) {
  if (!timeline.everyAnswerDiffers) return;
  for (const { process, atMs, event, list } of timeline.reports) {
    if (event.type !== 'list-restored' || !hasKeyFile(timeline, process)) continue;
    const content = Buffer.from(list?.json ?? '');
    const saved = [
      ...timeline.writes.filter(({ call }) => call.list === list),
      ...timeline.saves.filter(
        ({ writer, bytes }) => writer.index === process.index && bytes.includes(content),
      ),
    ];
    const during = [Math.max(process.startedAtMs, atMs - STORED_MS), atMs] as const;
    if (!saved.some((each) => each.atMs <= atMs && wasSigned(timeline, process, each, during)))
      yield [atMs, process, `restores ${nameOf(list)}, which nobody has signed with its key`];
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
