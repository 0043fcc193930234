import { afterAll } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Folders for the files of a test. They are removed after the last test of the file that made them;
// what a run leaves behind fails it (test/helpers/report-leftovers.js).

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Makes an empty one, whose name begins with `prefix`. */
export const temporaryFolder = (prefix = 'banks-bff-'): string => {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  folders.push(folder);
  return folder;
};

/** Makes a file in a folder of its own. @returns its path */
export const temporaryFile = (content: string | Uint8Array, name = 'file'): string => {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, content);
  return file;
};
