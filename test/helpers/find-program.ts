import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';

/**
 * The first of these programs, names or paths, that is installed, as a shell looks for it; undefined
 * if none is. Running each to find out would take longer than many a test.
 */
export const findProgram = (names: readonly string[]): string | undefined => {
  // oxlint-disable-next-line node/no-process-env -- where the machine's programs are
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return names.find((name) => folders.some((folder) => isExecutable(resolve(folder, name))));
};

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};
