import { rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SavedList } from '../banks/fleet.ts';
import type { CachedList } from '../banks/cached-list.ts';
import type { Clock } from '../clock.ts';
import { whyNoSnapshot } from '../config/snapshot-path.ts';
import { codeOf } from '../errors.ts';
import { describeReadError, readRegularFile } from '../regular-file.ts';
import { MAX_ENVELOPE_BYTES, type Envelope } from './envelope.ts';
import { describeStoreFailure, StoreError, type StoreReport } from './store-report.ts';

// The list as a file: read at the start, and replaced after each load. Its times are by the wall
// clock. All failures are reported, and none thrown.

export interface SnapshotOptions {
  readonly path: string;
  readonly envelope: Envelope;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly report: StoreReport;
}

export const createSnapshotFile = ({ path, envelope, clock, report }: SnapshotOptions) => {
  /** The list to be written next; a newer one takes its place. */
  let next: CachedList | undefined;
  let writing: Promise<void> | undefined;

  const writeAll = async (): Promise<void> => {
    while (next) {
      const list = next;
      next = undefined;
      try {
        // oxlint-disable-next-line no-await-in-loop -- one list after the other
        await replaceFile(path, await envelope.seal(list, clock.wallMs()));
        report.worked();
      } catch (error) {
        report.failed(describeStoreFailure(error));
      }
    }
    // Without an await since `next` was read: a list that comes now begins another writing.
    writing = undefined;
  };

  return {
    /** The saved list, whatever its age; undefined if there is none that can be used. */
    read: async (): Promise<SavedList | undefined> => {
      try {
        const bytes = await readRegularFile(path, MAX_ENVELOPE_BYTES);
        if (bytes.length > 0) return await envelope.open(bytes, clock.wallMs());
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return undefined;
        const unreadable = `cannot be read (${describeReadError(error)}); ignored`;
        report.failed(describeStoreFailure(error, unreadable));
      }
      return undefined;
    },
    /** Writes the list in the background. */
    save: (list: CachedList): void => {
      next = list;
      writing ??= writeAll();
    },
    /** Resolves once nothing is being written. */
    stop: async (): Promise<void> => writing,
  };
};

/**
 * Writes beside the file and renames: a reader, or the next start after a crash, finds the old
 * content or the new one.
 */
export const replaceFile = async (path: string, content: Buffer): Promise<void> => {
  const temporary = `${path}.tmp`;
  const problem = await whyNoSnapshot(path);
  if (problem) throw new StoreError(problem);
  try {
    await writeFile(temporary, content, { mode: 0o600, flush: true });
    await rename(temporary, path);
  } catch (error) {
    throw writeFailure(path, error);
  }
};

/** Why the file at `path` could not be replaced, and what to do. */
export const writeFailure = (path: string, error: unknown): StoreError => {
  const code = codeOf(error);
  const hint = HINTS[code] ?? `let this user write to the directory ${dirname(path)}`;
  return new StoreError(`cannot be written (${code}); ${hint}`);
};

const MOUNTED_FILE =
  'a file that is mounted by itself cannot be replaced; mount its directory instead';
const HINTS: Readonly<Record<string, string>> = {
  EBUSY: MOUNTED_FILE,
  EXDEV: MOUNTED_FILE,
  ENOSPC: 'its disk is full',
};
