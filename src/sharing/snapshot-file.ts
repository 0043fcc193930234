import { codeOf } from '../error-code.ts';
import { describeReadError, readRegularFile } from '../regular-file.ts';
import type { Envelope } from './envelope.ts';
import { StoreError, type ListStore } from './list-store.ts';
import { removeAbandoned, replaceFile } from './replace-file.ts';

/** What is done with files; rejects with Node's errors. */
export interface Files {
  /** See {@link readRegularFile}. */
  readonly read: (path: string, maxBytes: number) => Promise<Buffer>;
  /** See {@link replaceFile}. */
  readonly replace: (path: string, content: Buffer) => Promise<void>;
  /** See {@link removeAbandoned}. */
  readonly removeAbandoned: (path: string) => Promise<void>;
}

const FILES: Files = { read: readRegularFile, replace: replaceFile, removeAbandoned };

/** The saved list as a file: read at the start, replaced after each renewal. */
export const createSnapshotFile = (path: string, envelope: Envelope, files: Files = FILES): ListStore => {
  let hasWritten = false;
  return {
    name: 'CACHE_SNAPSHOT_FILE',
    read: async () => {
      const bytes = await files.read(path, envelope.maxBytes).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return undefined;
        throw new StoreError(`cannot be read (${describeReadError(error)}); ignored`);
      });
      return bytes && { list: (await envelope.open(bytes)).list };
    },
    write: async (list) => {
      if (!hasWritten) await files.removeAbandoned(path);
      hasWritten = true;
      await files.replace(path, envelope.seal(list)).catch((error: unknown) => {
        const reason = codeOf(error) || 'unexpected error';
        throw new StoreError(`cannot be written (${reason}); the service continues without it`);
      });
    },
  };
};
