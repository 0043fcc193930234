import type { CachedList, SavedList } from '../banks/cached-list.ts';
import type { Clock } from '../clock.ts';
import { inspectSnapshot } from '../config/snapshot-path.ts';
import { codeOf } from '../error-code.ts';
import { describeReadError, readRegularFile } from '../regular-file.ts';
import type { Envelope } from './envelope.ts';
import { describeStoreFailure, StoreError, type StoreReport } from './store-report.ts';
import { removeAbandoned, replaceFile } from './replace-file.ts';
import type { Moment } from './saved-values.ts';

/** Replaces nothing that this service did not write: the file may have come since the start. */
const replaceOurs = async (path: string, content: Buffer): Promise<void> => {
  const found = await inspectSnapshot(path);
  if (typeof found === 'object') throw new StoreError(`${found.problem}; left as it is`);
  await replaceFile(path, content);
};

/** What is done with files; rejects with Node's errors. */
const FILES = {
  read: readRegularFile,
  replace: replaceOurs,
  removeAbandoned,
};
export type Files = Readonly<typeof FILES>;

interface SnapshotOptions {
  readonly path: string;
  readonly envelope: Envelope;
  /** Takes a restored list as the cached one; rejects if it is refused. */
  readonly take: (saved: SavedList) => Promise<void>;
  readonly clock: Clock;
  readonly report: StoreReport;
  /** The real ones unless given. */
  readonly files?: Files | undefined;
}

/**
 * A list that could not be written is tried again after this time, unless another one comes before.
 */
const RETRY_MS = 60_000;
/** How often it is checked whether the wall clock is still the one that the list was saved by. */
const CLOCK_CHECK_MS = 60_000;
/** What the wall clock and the monotonic one may part by before the list is written again. */
const CORRECTION_MS = 1_000;

/**
 * The saved list as a file: read at the start, replaced after each renewal, and after the wall
 * clock was corrected, since a restart tells the list's age by that clock. All failures are
 * reported, and none thrown.
 */
export const createSnapshotFile = (options: SnapshotOptions) => {
  const { path, envelope, take, clock, report, files = FILES } = options;
  /** What was read at the start, until it has been written back. */
  let restored: Buffer | undefined;
  /** The list to be written, and what is writing it. */
  let next: CachedList | undefined;
  let writing: Promise<void> | undefined;
  let hasWritten = false;
  let isStopped = false;
  let cancelNext = (): void => {};

  const now = () => ({ storeMs: clock.wallMs(), nowMs: clock.monotonicMs() });

  /**
   * A restored list is written back at once, so that a failing disk is reported, and as it was
   * read: in a new envelope, with the time of a clock that is wrong now, it would be too old to be
   * served once that clock is corrected.
   */
  const contentOf = async (list: CachedList, moment: Moment): Promise<Buffer> =>
    (list.isUnconfirmed && restored) || (await envelope.seal(list, moment));

  const write = async (list: CachedList, moment: Moment): Promise<void> => {
    if (!hasWritten) await files.removeAbandoned(path);
    hasWritten = true;
    await files.replace(path, await contentOf(list, moment)).catch((error: unknown) => {
      const reason = codeOf(error);
      if (!reason) throw error;
      throw new StoreError(`cannot be written (${reason}); the service continues without it`);
    });
    restored = undefined;
  };

  /** Runs `task` after `delayMs`, unless another list is saved before. */
  const schedule = (delayMs: number, task: () => void): void => {
    cancelNext();
    if (!isStopped) cancelNext = clock.after(delayMs, task);
  };

  /** The saved list, whatever its age, taken as the cached one; undefined if there is none. */
  const restore = async (): Promise<SavedList | undefined> => {
    const saved = await read();
    if (saved) await takeOrReport(saved);
    return saved;
  };

  const takeOrReport = (saved: SavedList): Promise<void> =>
    take(saved).catch((error: unknown) => report.everyTime(describeStoreFailure(error)));

  const read = async (): Promise<SavedList | undefined> => {
    try {
      const bytes = await files.read(path, envelope.maxBytes).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return undefined;
        throw new StoreError(`cannot be read (${describeReadError(error)}); ignored`);
      });
      if (bytes && bytes.length > 0) {
        const saved = await envelope.open(bytes, now());
        restored = bytes;
        return { ...saved, isUnconfirmed: true };
      }
      report.empty();
    } catch (error) {
      report.everyTime(describeStoreFailure(error));
    }
    return undefined;
  };

  /**
   * Checks from time to time whether the wall clock was corrected. Then a list of this process is
   * saved again. A restored one is read and taken again if the clock went back: it may have been
   * ahead at the start.
   */
  const watchClock = (list: CachedList, savedAt: Moment): void =>
    schedule(CLOCK_CHECK_MS, () => {
      const { storeMs, nowMs } = now();
      const correctedByMs = storeMs - savedAt.storeMs - (nowMs - savedAt.nowMs);
      if (Math.abs(correctedByMs) <= CORRECTION_MS) watchClock(list, savedAt);
      else if (!list.isUnconfirmed) save(list);
      else if (correctedByMs < 0) void restoreAgain(list);
      else watchClock(list, { storeMs, nowMs });
    });

  const restoreAgain = async (list: CachedList): Promise<void> => {
    const saved = await read();
    // Another list may have been saved meanwhile.
    if (isStopped || writing) return;
    watchClock(list, now());
    if (saved?.id === list.id && !saved.isAgeUnknown) await takeOrReport(saved);
  };

  const writeAll = async (): Promise<void> => {
    while (next) {
      const list = next;
      const moment = now();
      try {
        // oxlint-disable-next-line no-await-in-loop -- one list after the other
        await write(list, moment);
        report.success();
        if (next === list) watchClock(list, moment);
      } catch (error) {
        report.everyTime(describeStoreFailure(error));
        if (next === list) schedule(RETRY_MS, () => save(list));
      }
      if (next === list) next = undefined;
    }
    // Without an await since `next` was read: a list that comes now begins another writing.
    writing = undefined;
  };

  /**
   * Writes the list in the background. While one is being written, only the newest waits for it.
   */
  const save = (list: CachedList): void => {
    cancelNext();
    next = list;
    writing ??= writeAll();
  };

  return {
    restore,
    save,
    /** Resolves once nothing is being written any more. */
    stop: async (): Promise<void> => {
      isStopped = true;
      cancelNext();
      await writing;
    },
  };
};
