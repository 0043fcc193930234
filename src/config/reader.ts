import type { Secret } from '../secrets/secret.ts';
import { InvalidValue } from './values.ts';
import {
  defaultOf,
  spellingsOf,
  VARIABLES,
  type DefaultedName,
  type VariableName,
  type Values,
} from './variables.ts';

// Reads single variables and collects what is wrong with them, so that every problem is reported at once.

export type Environment = Readonly<Record<string, string | undefined>>;

/** A secret in a variable, or the file that holds it. */
export type SecretSource = Secret | { readonly path: string };

type SecretName = 'MANAGEMENT_TOKEN' | 'PROVIDER_CLIENT_SECRET' | 'CACHE_REDIS_URL';

export interface Reader {
  /** One line for each problem so far: the variable, what is wrong, what would be right. */
  readonly problems: readonly string[];
  readonly report: (name: string, problem: string) => void;
  /** Whether the variable has a value. An empty one counts as unset. */
  readonly isSet: (name: VariableName) => boolean;
  /** The parsed value; undefined while the variable is unset or its value is invalid, which is then reported. */
  readonly optional: <N extends VariableName>(name: N) => Values[N] | undefined;
  /** The parsed value, or the default's: also for an invalid value, so that the other problems can still be found. */
  readonly defaulted: <N extends DefaultedName>(name: N) => Values[N];
  /** A secret from its variable or from the file that `${name}_FILE` names; both at once are a problem. */
  readonly secret: (name: SecretName) => SecretSource | undefined;
}

export const createReader = (env: Environment): Reader => {
  const problems: string[] = [];
  const report = (name: string, problem: string): void => void problems.push(`${name}: ${problem}`);
  const spellingOf = (name: VariableName): string => spellingsOf(name).find((key) => env[key]) ?? name;
  const textOf = (name: VariableName): string => env[spellingOf(name)] ?? '';

  const optional = <N extends VariableName>(name: N): Values[N] | undefined => {
    const text = textOf(name);
    if (text === '') return undefined;
    try {
      return VARIABLES[name].parse(text);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      report(spellingOf(name), error.message);
      return undefined;
    }
  };

  return {
    problems,
    report,
    isSet: (name) => textOf(name) !== '',
    optional,
    defaulted: (name) => optional(name) ?? VARIABLES[name].parse(defaultOf(name)),
    secret: (name) => {
      const path = textOf(`${name}_FILE`);
      if (path === '') return optional(name);
      if (textOf(name) !== '') report(`${name}_FILE`, `is set as well as ${name}; keep one`);
      return { path };
    },
  };
};
