import { inspectSnapshot } from '../config/snapshot-path.ts';
import { codeOf } from '../error-code.ts';
import { describeReadError, readRegularFile } from '../regular-file.ts';
import type { Envelope } from './envelope.ts';
import { StoreError, type ListStore } from './list-store.ts';
import { removeAbandoned, replaceFile } from './replace-file.ts';

/** Replaces nothing that this service did not write: the file may have come since the start. */
const replaceOurs = async (path: string, content: Buffer): Promise<void> => {
  const found = await inspectSnapshot(path);
  if (typeof found === 'object') throw new StoreError(`${found.problem}; left as it is`);
  await replaceFile(path, content);
};

/** What is done with files; rejects with Node's errors. */
const FILES = { read: readRegularFile, replace: replaceOurs, removeAbandoned };
export type Files = Readonly<typeof FILES>;

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
      return bytes && bytes.length > 0 ? { list: (await envelope.open(bytes)).list } : undefined;
    },
    write: async (list) => {
      if (!hasWritten) await files.removeAbandoned(path);
      hasWritten = true;
      await files.replace(path, envelope.seal(list)).catch((error: unknown) => {
        if (error instanceof StoreError) throw error;
        const reason = codeOf(error) || 'unexpected error';
        throw new StoreError(`cannot be written (${reason}); the service continues without it`);
      });
    },
  };
};
