import { parseArgs } from 'node:util';
import { printable } from '../telemetry/printable.ts';

// What the program is asked to do. Settings are environment variables, never arguments: other users of the machine can
// see a process's arguments.

const COMMANDS = {
  serve: 'run the service; the default',
  doctor: 'make one request to the provider and report each step',
  'check-config': 'print the effective configuration and its problems',
} as const;

export type CommandName = keyof typeof COMMANDS;

export type Request =
  | { readonly kind: 'command'; readonly name: CommandName }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** `problem` is one line that names the argument and what is allowed. */
  | { readonly kind: 'usage-error'; readonly problem: string };

/** @param args the arguments after the program's name */
export const parseCommandLine = (args: readonly string[]): Request => {
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } },
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const isKnown = token.name === 'help' || token.name === 'version';
    if (!isKnown || token.value !== undefined) return usageError(token.rawName);
  }
  const [name = 'serve', ...others] = positionals;
  if (!isCommandName(name)) return usageError(name);
  if (others[0] !== undefined) return usageError(others[0]);
  if (values['help'] === true) return { kind: 'help' };
  if (values['version'] === true) return { kind: 'version' };
  return { kind: 'command', name };
};

/** Names the argument without what follows `=`, which may be a secret. */
const usageError = (argument: string): Request => {
  const name = printable(argument.split('=')[0] ?? '').slice(0, MAX_SHOWN_CHARS);
  return {
    kind: 'usage-error',
    problem: `Unknown argument "${name}". Allowed: ${[...Object.keys(COMMANDS), '--help', '--version'].join(', ')}.`,
  };
};

const MAX_SHOWN_CHARS = 40;

const isCommandName = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

export const HELP = `Serves a banking provider's bank list to browsers.

Usage: banks-bff [command]

Commands:
${Object.entries(COMMANDS)
  .map(([name, description]) => `  ${name.padEnd(15)}${description}`)
  .join('\n')}

Options:
  -h, --help     print this text
  -v, --version  print the version

Settings are environment variables, or lines of a .env file in the working directory; the README lists them.

Exit status: 0 success; 1 an invalid configuration, a provider that sends no usable list, or a failure; 2 an unknown
argument.
`;
