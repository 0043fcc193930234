import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { EnvironmentVariables } from '../../src/config/variables.ts';

// A program as a separate process, with everything that it writes.

export type Program = ReturnType<typeof runProgram>;

export interface ProgramOptions {
  readonly args?: readonly string[];
  /** The whole environment of the process. */
  readonly env?: EnvironmentVariables;
  readonly cwd?: string;
}

/** Where programs for servers are: without PATH only /usr/bin and /bin are searched. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/bin';

/** Runs `command`. */
export const runProgram = (command: string, options: ProgramOptions = {}) => {
  const { args = [], env = {}, cwd } = options;
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks: Buffer[] = [];
  const streams = [child.stdout, child.stderr];
  for (const stream of streams) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  /** Everything written to standard output and standard error so far. */
  const output = (): string => Buffer.concat(chunks).toString();
  /** Resolves with the exit status after all output has been read; null if a signal ended it. */
  const exit = once(child, 'close').then(([code]: unknown[]) =>
    typeof code === 'number' ? code : null,
  );
  return {
    child,
    output,
    exit,
    /** Sends `signal` and resolves with the exit status. */
    end: (signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> => {
      child.kill(signal);
      return exit;
    },
    /** A server accepts connections and answers nothing, until `resume`. */
    stall: (): void => void child.kill('SIGSTOP'),
    resume: (): void => void child.kill('SIGCONT'),
    /**
     * Resolves with the first match of `pattern` in the output; rejects if the program ends, or
     * takes a minute, without one.
     */
    says: (pattern: RegExp): Promise<RegExpExecArray> =>
      new Promise((resolve, reject) => {
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
    /** Resolves when it accepts connections on this port of loopback; rejects if it ends before. */
    listens: async (port: number): Promise<void> => {
      for (;;) {
        const socket = connect(port, '127.0.0.1');
        const isUp = await once(socket, 'connect').then(
          () => true,
          () => false,
        );
        socket.destroy();
        if (isUp) return;
        if (child.exitCode !== null) throw new Error(`ended without listening: ${output()}`);
        await wait(10);
      }
    },
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

/**
 * Options of Node with which a process gets SIGUSR1 before the program's first instruction, as if
 * somebody had sent it while Node starts.
 */
export const SIGUSR1_BEFORE_THE_PROGRAM = [
  '--import',
  "data:text/javascript,process.kill(process.pid, 'SIGUSR1')",
];

/**
 * Runs `command` as a person would paste it into a shell, without that person's start-up files: its
 * input is a socket, so bash would read ~/.bashrc, as a remote shell does.
 * @returns what it writes to standard output; rejects where it fails
 */
export const runInShell = async (command: string): Promise<string> =>
  (await promisify(execFile)('bash', ['--norc', '-c', command])).stdout;
