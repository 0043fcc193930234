import { codeOf } from '../error-code.ts';
import { describeReadError, readRegularFile } from '../regular-file.ts';
import type { Envelope } from './envelope.ts';
import { StoreError, type ListStore } from './list-store.ts';
import { removeAbandoned, replaceFile } from './replace-file.ts';

/** The saved list as a file: read at the start, replaced after each renewal. */
export const createSnapshotFile = (path: string, envelope: Envelope): ListStore => {
  let hasWritten = false;
  return {
    name: 'CACHE_SNAPSHOT_FILE',
    read: async () => {
      const bytes = await readRegularFile(path, envelope.maxBytes).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return undefined;
        throw new StoreError(`cannot be read (${describeReadError(error)}); ignored`);
      });
      return bytes && { list: (await envelope.open(bytes)).list };
    },
    write: async (list) => {
      if (!hasWritten) await removeAbandoned(path);
      hasWritten = true;
      await replaceFile(path, envelope.seal(list)).catch((error: unknown) => {
        const reason = codeOf(error) || 'unexpected error';
        throw new StoreError(`cannot be written (${reason}); the service continues without it`);
      });
    },
  };
};
