import type { ProcessEnvironment } from '../config/environment.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { LogDestination } from '../telemetry/log-stream.ts';
import { printable } from '../printable.ts';

// What the program is asked to do, and what its commands are given. Settings are environment
// variables, never arguments: other users of the machine can see a process's arguments.

const COMMANDS = {
  serve: 'run the service; the default',
  doctor: 'make one request to the provider, try stores and ports, and report each step',
  snapshot: 'load the list once and save it to FILE, for CACHE_SNAPSHOT_FILE',
  'check-config': 'print the effective configuration and its problems',
} as const;

export type ProgramCommand = keyof typeof COMMANDS;

/** What a command needs after its name. */
const ARGUMENTS: Readonly<Partial<Record<ProgramCommand, string>>> = { snapshot: 'FILE' };

/** `argument`: empty where the command takes none. */
export interface CommandRequest {
  readonly command: ProgramCommand;
  readonly argument: string;
}

/** `problem` is one line that names the argument and what is allowed. */
export type CommandLine = CommandRequest | 'help' | 'version' | { readonly problem: string };

/** @param args the arguments after the program's name */
export const parseCommandLine = (args: readonly string[]): CommandLine => {
  const [command = 'serve', ...others] = args.filter((arg) => !Object.hasOwn(OPTIONS, arg));
  if (!isProgramCommand(command)) return usageError(command);
  const wanted = ARGUMENTS[command];
  const [argument = ''] = wanted === undefined ? [] : others.splice(0, 1);
  const wrong = argument.startsWith('-') ? argument : others[0];
  if (wrong !== undefined) return usageError(wrong);
  const asked = Object.entries(OPTIONS).find(([option]) => args.includes(option));
  if (asked) return asked[1];
  return wanted !== undefined && argument === ''
    ? { problem: `The command ${command} needs its argument: banks-bff ${command} ${wanted}` }
    : { command, argument };
};

/** Where several are given, the first of this list counts. */
const OPTIONS = {
  '-h': 'help',
  '--help': 'help',
  '-v': 'version',
  '--version': 'version',
} as const;

/** Names the argument without what follows `=`, which may be a secret. */
const usageError = (argument: string): CommandLine => {
  const name = printable(argument.split('=')[0] ?? '').slice(0, MAX_SHOWN_CHARS);
  const allowed = [...Object.keys(COMMANDS), '--help', '--version'];
  return { problem: `Unknown argument "${name}". Allowed: ${allowed.join(', ')}.` };
};

const MAX_SHOWN_CHARS = 40;

const isProgramCommand = (name: string): name is ProgramCommand => Object.hasOwn(COMMANDS, name);

export const USAGE = `Serves a banking provider's bank list to browsers.

Usage: banks-bff [command]

Commands:
${Object.entries(COMMANDS)
  .map(([name, description]) => {
    const usage = isProgramCommand(name) && ARGUMENTS[name] ? `${name} ${ARGUMENTS[name]}` : name;
    return `  ${usage.padEnd(15)}${description}`;
  })
  .join('\n')}

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

/**
 * How long the end may wait for a reader of the log's last lines, in milliseconds, and again for an
 * error's text.
 */
export const LAST_LINES_MS = 250;
