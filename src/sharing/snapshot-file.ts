import { readFile } from 'node:fs/promises';
import writeFileAtomic from 'write-file-atomic';
import { codeOf } from '../error-code.ts';
import { open, seal } from './envelope.ts';
import { StoreError, type ListStore } from './list-store.ts';

// The last good list as a file. Written beside the old one, synced and renamed over it, so that a reader finds the
// old list or the new one, whole, whenever the process dies.

export const createSnapshotFile = (path: string, provenance: string): ListStore => ({
  name: 'CACHE_SNAPSHOT_FILE',
  read: async () => {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw new StoreError(`cannot be read (${codeOf(error) || 'unknown error'})`);
    });
    return text === undefined ? undefined : open(text, provenance);
  },
  write: async (list) => {
    // Readable by its owner only: nobody else has a use for it.
    await writeFileAtomic(path, seal(list, provenance), { mode: 0o600 }).catch((error: unknown) => {
      throw new StoreError(
        `cannot be written (${codeOf(error) || 'unknown error'}); the service goes on without it`,
      );
    });
  },
});
