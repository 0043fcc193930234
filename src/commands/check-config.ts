import { checkConfig } from '../config/environment.ts';
import { printable } from '../format.ts';
import type { CommandContext } from './command-line.ts';

/**
 * Prints each variable with its source and its value, then every problem. Connects to nothing.
 * @returns 0 if valid
 */
export const printConfig = async ({ env, write }: CommandContext): Promise<number> => {
  const { variables, error } = await checkConfig(env);
  const width = Math.max(...variables.map(({ name }) => name.length));
  const rows = variables.map(({ name, source, shown }) =>
    `${name.padEnd(width)}  ${source.padEnd(11)}  ${printable(shown)}`.trimEnd(),
  );
  write([...rows, '', error?.message ?? 'The configuration is valid.', ''].join('\n'));
  return error ? 1 : 0;
};
