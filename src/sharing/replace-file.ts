import { randomBytes } from 'node:crypto';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { targetOf } from '../regular-file.ts';

// Replaces a file so that a reader, or the next start after a crash at any moment, finds the old
// content or the new content and never a mixture: write beside it, fsync, rename.

/**
 * Replaces `path`, links followed. The file is readable by its owner only. @throws Node's error;
 * `path` is then unchanged
 */
export const replaceFile = async (path: string, content: Buffer): Promise<void> => {
  const target = await targetOf(path);
  const temporary = temporaryBeside(target);
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(target));
};

/**
 * Removes the temporary files that killed processes left beside `path`. Another process may be
 * writing to a young one, so only those older than {@link ABANDONED_AFTER_MS} go. Never rejects:
 * they are only in the way.
 */
export const removeAbandoned = async (path: string): Promise<void> => {
  const target = await targetOf(path);
  const directory = dirname(target);
  const names = await readdir(directory).catch(() => []);
  const isTemporary = (name: string): boolean =>
    name.startsWith(`${basename(target)}.`) && TEMPORARY_END.test(name);
  const removeIfOld = async (file: string): Promise<void> => {
    const { mtimeMs } = await stat(file);
    if (Date.now() - mtimeMs > ABANDONED_AFTER_MS) await rm(file);
  };
  await Promise.allSettled(
    names.filter(isTemporary).map((name) => removeIfOld(join(directory, name))),
  );
};

/**
 * A rename survives a power failure only once its directory is on disk too. Some file systems
 * cannot do that.
 */
const syncDirectory = async (path: string): Promise<void> => {
  const directory = await open(path).catch(() => undefined);
  await directory?.sync().catch(() => undefined);
  await directory?.close();
};

/**
 * A new name for a file beside `target`, with an ending by which {@link removeAbandoned} recognises
 * it.
 */
export const temporaryBeside = (target: string): string =>
  `${target}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`;

const TEMPORARY_END = /\.\d+-[\da-f]{12}\.tmp$/;
/** Writing takes milliseconds; a disk that stalls, some seconds. */
const ABANDONED_AFTER_MS = 60_000;
