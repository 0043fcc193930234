import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import writeFileAtomic from 'write-file-atomic';
import { codeOf } from '../error-code.ts';
import { tooLarge, type Envelope } from './envelope.ts';
import { StoreError, type ListStore } from './list-store.ts';

// The last good list as a file. Written beside the old one, synced and renamed over it, so that a reader finds the
// old list or the new one, whole, whenever the process dies.

export const createSnapshotFile = (path: string, envelope: Envelope): ListStore => ({
  name: 'CACHE_SNAPSHOT_FILE',
  read: async () => {
    const bytes = await readRegularFile(path, envelope.maxBytes).catch((error: unknown) => {
      if (error instanceof StoreError) throw error;
      if (codeOf(error) === 'ENOENT') return undefined;
      throw new StoreError(`cannot be read (${codeOf(error) || 'unknown error'})`);
    });
    return bytes && { list: (await envelope.open(bytes)).list };
  },
  write: async (list) => {
    // Readable by its owner only: nobody else has a use for it.
    await writeFileAtomic(path, envelope.seal(list), { mode: 0o600 }).catch((error: unknown) => {
      throw new StoreError(
        `cannot be written (${codeOf(error) || 'unknown error'}); the service goes on without it`,
      );
    });
  },
});

/** A regular file of at most `maxBytes`. Anything else is not waited for: a pipe would have no end, or no beginning. */
const readRegularFile = async (path: string, maxBytes: number): Promise<Buffer> => {
  // Without O_NONBLOCK, opening a pipe waits for its writer, and keeps a thread from everybody else.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size, isFile } = await describe(file);
    if (!isFile) throw new StoreError('is not a regular file; ignored');
    if (size > maxBytes) throw tooLarge(maxBytes);
    return await readExactly(file, size);
  } finally {
    await file.close();
  }
};

const describe = async (file: FileHandle) => {
  const stats = await file.stat();
  return { size: stats.size, isFile: stats.isFile() };
};

/** The first `size` bytes, or fewer where the file has become shorter. */
const readExactly = async (file: FileHandle, size: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    // oxlint-disable-next-line no-await-in-loop -- a file is read from its beginning to its end
    const { bytesRead } = await file.read(bytes, length, size - length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
};
