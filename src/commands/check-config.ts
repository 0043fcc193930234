import type { EffectiveVariable } from '../config/effective.ts';
import { checkConfig } from '../config/environment.ts';
import { printable } from '../telemetry/printable.ts';
import type { CommandContext } from './command.ts';

/** Prints each variable with its source and its value, then every problem. Connects to nothing. @returns 0 if valid */
export const printConfig = ({ env, redaction, write }: CommandContext): Promise<number> => {
  const { variables, problems, secrets } = checkConfig(env);
  for (const [name, secret] of secrets) redaction.addSecret(name, secret);
  const width = Math.max(...variables.map(({ name }) => name.length));
  const rows = variables.map((variable) =>
    `${variable.name.padEnd(width)}  ${variable.source.padEnd(11)}  ${show(variable)}`.trimEnd(),
  );
  const verdict =
    problems.length === 0
      ? ['The configuration is valid.']
      : [
          `The configuration has ${problems.length} problem${problems.length === 1 ? '' : 's'}:`,
          ...problems.map((problem) => `  ${problem}`),
        ];
  write([...rows, '', ...verdict, ''].join('\n'));
  return Promise.resolve(problems.length === 0 ? 0 : 1);
};

const show = ({ state, text }: EffectiveVariable): string => {
  switch (state) {
    case 'value':
      return printable(text);
    case 'file':
      return `${printable(text)} (readable)`;
    case 'unset':
      return '';
    case 'secret':
      return 'set';
    case 'problem':
      return 'see below';
  }
};
