import type { ProcessEnvironment } from '../config/environment.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { LogDestination } from '../telemetry/log-stream.ts';
import { printable } from '../format.ts';

// What the program is asked to do, and what its commands are given. Settings are environment
// variables, never arguments: other users of the machine can see a process's arguments.

const COMMANDS = ['serve', 'doctor', 'snapshot', 'check-config'] as const;
export type ProgramCommand = (typeof COMMANDS)[number];

/** `argument`: of `snapshot`; empty for the others. */
export interface CommandRequest {
  readonly command: ProgramCommand;
  readonly argument: string;
}

/** `problem` is one line that names the argument and what is allowed. */
export type CommandLine = CommandRequest | 'help' | 'version' | { readonly problem: string };

/** @param args the arguments after the program's name */
export const parseCommandLine = (args: readonly string[]): CommandLine => {
  if (args.includes('-h') || args.includes('--help')) return 'help';
  if (args.includes('-v') || args.includes('--version')) return 'version';
  const [first = 'serve', ...others] = args;
  const command = COMMANDS.find((name) => name === first);
  if (!command) return unknownArgument(first);
  const wanted = command === 'snapshot' ? 1 : 0;
  const unknown = others.find((text, index) => index >= wanted || text.startsWith('-'));
  if (unknown !== undefined) return unknownArgument(unknown);
  const [argument = ''] = others;
  return wanted === 1 && argument === ''
    ? { problem: 'The command snapshot needs its argument: banks-bff snapshot FILE' }
    : { command, argument };
};

const MAX_SHOWN_CHARS = 40;

/** Names the argument without what follows `=`, which may be a secret. */
const unknownArgument = (argument: string): CommandLine => {
  const name = printable(argument.split('=')[0] ?? '').slice(0, MAX_SHOWN_CHARS);
  const allowed = [...COMMANDS, '--help', '--version'].join(', ');
  return { problem: `Unknown argument "${name}". Allowed: ${allowed}.` };
};

export const USAGE = `Serves a banking provider's bank list to browsers.

Usage: banks-bff [command]

Commands:
  serve          run the service; the default
  doctor         make one request to the provider, try stores and ports, and report each step
  snapshot FILE  load the list once and save it to FILE, for CACHE_SNAPSHOT_FILE
  check-config   print the effective configuration and its problems

Options:
  -h, --help     print this text
  -v, --version  print the version

Settings are environment variables, or lines of a .env file in the working directory; docs/configuration.md lists them.

Exit status: 0 success; 1 an invalid configuration, a provider that sends no usable list, or a failure; 2 an unknown
argument.
`;

/**
 * What a command is given of the process. It returns the exit status; only main.ts touches the
 * process itself.
 */
export interface CommandContext {
  readonly version: string;
  /** Secrets are deleted from it once they have been read. */
  readonly env: ProcessEnvironment;
  /** Must be given every secret; both writers apply it. */
  readonly redaction: Redaction;
  /** Writes to standard output. */
  readonly write: (text: string) => void;
  /** Writes to standard error, within a bounded time. */
  readonly writeError: (text: string) => void;
}

export interface ServeContext extends CommandContext {
  readonly openLog: () => LogDestination;
  /**
   * Resolves with the first signal that asks the process to stop, also one that came before
   * anything was loaded.
   */
  readonly stopSignal: Promise<StopSignal>;
}

export type StopSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP';
