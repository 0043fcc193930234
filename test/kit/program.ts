import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Environment } from '../../src/config/reader.ts';

// A program as a separate process, with everything that it writes.

export interface Program {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** Everything written to standard output and standard error so far. */
  readonly output: () => string;
  /** Resolves with the exit status after all output has been read; null if a signal ended it. */
  readonly exit: Promise<number | null>;
  /** Resolves with the first match of `pattern` in the output; rejects if the program ends, or takes a minute, without one. */
  readonly says: (pattern: RegExp) => Promise<RegExpExecArray>;
}

export interface ProgramOptions {
  readonly args?: readonly string[];
  /** The whole environment of the process. */
  readonly env?: Environment;
  readonly cwd?: string;
}

/** Runs `command`. */
export const runProgram = (command: string, { args = [], env = {}, cwd }: ProgramOptions = {}): Program => {
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const output = (): string => Buffer.concat(chunks).toString();
  const exit = once(child, 'close').then(([code]: unknown[]) => (typeof code === 'number' ? code : null));
  return {
    child,
    output,
    exit,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const streams = [child.stdout, child.stderr];
        const fail = (what: string): void =>
          reject(new Error(`${what} without writing ${String(pattern)}: ${output()}`));
        const timer = setTimeout(() => fail('ran for a minute'), 60_000).unref();
        const look = (): void => {
          const match = pattern.exec(output());
          if (!match) return;
          clearTimeout(timer);
          for (const stream of streams) stream.off('data', look);
          resolve(match);
        };
        for (const stream of streams) stream.on('data', look);
        exit.then(() => fail('ended'), reject);
        look();
      }),
  };
};

export interface NodeOptions extends ProgramOptions {
  /** The module's arguments; `args` are Node's own. */
  readonly programArgs?: readonly string[];
}

/** Runs `main`, a module of the build, on this Node. */
export const runNode = (
  main: string,
  { args = [], programArgs = [], ...options }: NodeOptions = {},
): Program => runProgram(process.execPath, { ...options, args: [...args, main, ...programArgs] });
