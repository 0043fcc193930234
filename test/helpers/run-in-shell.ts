import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Runs `command` as a person would paste it into a shell, without that person's start-up files: its
 * input is a socket, so bash would read ~/.bashrc, as a remote shell does.
 * @returns what it writes to standard output; rejects where it fails
 */
export const runInShell = async (command: string): Promise<string> =>
  (await promisify(execFile)('bash', ['--norc', '-c', command])).stdout;
