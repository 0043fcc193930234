import type { Secret } from '../secrets/secret.ts';
import { InvalidValue } from './values.ts';
import {
  defaultOf,
  spellingsOf,
  VARIABLE_NAMES,
  VARIABLES,
  type DefaultedName,
  type VariableName,
  type Values,
} from './variables.ts';

// Single variables: parsed, with everything that is wrong with them, and listed for a person to check. Pure.

export type Environment = Readonly<Record<string, string | undefined>>;

/** A secret in a variable, or the file that holds it. */
export type SecretSource = Secret | { readonly path: string };

type SecretName = {
  [N in VariableName]: `${N}_FILE` extends VariableName ? N : never;
}[VariableName];

/** What is wrong with these variables, and what would be right; never a value. */
export interface ConfigProblem {
  readonly variables: readonly string[];
  readonly text: string;
}

export interface VariableReader {
  readonly problems: readonly ConfigProblem[];
  /** One mistake is one problem: a further one of variables that all have one already is ignored. */
  readonly report: (variables: string | readonly string[], text: string) => void;
  /** Whether the variable has a value. An empty one counts as unset. */
  readonly isSet: (name: VariableName) => boolean;
  /** The parsed value; undefined while the variable is unset or its value is invalid, which has been reported. */
  readonly optional: <N extends VariableName>(name: N) => Values[N] | undefined;
  /** The parsed value, or the default's: also for an invalid value, so that the other problems can still be found. */
  readonly defaulted: <N extends DefaultedName>(name: N) => Values[N];
  /** A secret from its variable or from the file that `${name}_FILE` names; both at once are a problem. */
  readonly secret: (name: SecretName) => SecretSource | undefined;
}

export const createReader = (env: Environment): VariableReader => {
  const problems: ConfigProblem[] = [];
  const report = (names: string | readonly string[], text: string): void => {
    const variables = [names].flat();
    const known = problems.flatMap((problem) => problem.variables);
    if (!variables.every((name) => known.includes(name))) problems.push({ variables, text });
  };
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
  // A mistake in a variable that is not used yet is found today.
  for (const name of VARIABLE_NAMES) optional(name);

  return {
    problems,
    report,
    isSet: (name) => textOf(name) !== '',
    optional,
    defaulted: (name) => optional(name) ?? VARIABLES[name].parse(defaultOf(name)),
    secret: (name) => {
      const path = optional(`${name}_FILE`);
      if (path === undefined) return optional(name);
      if (textOf(name) !== '') report(`${name}_FILE`, `is set as well as ${name}; keep one`);
      return { path };
    },
  };
};

/** A variable as the service would use it. */
export interface EffectiveVariable {
  readonly name: VariableName;
  readonly source: 'environment' | '.env' | 'default' | 'unset';
  /** The value, or what may be said of it: never a secret, or a value that a problem is about, which may be a misplaced one. */
  readonly shown: string;
}

/** What the configuration is read from; the variables of the environment take precedence. */
export interface Sources {
  readonly environment: Environment;
  readonly dotEnv: Environment;
}

/** @param problems of these sources */
export const effectiveVariables = (
  { environment, dotEnv }: Sources,
  problems: readonly ConfigProblem[],
): readonly EffectiveVariable[] => {
  const wrong = new Set(problems.flatMap(({ variables }) => variables));
  return VARIABLE_NAMES.map((name) => {
    const { default: preset, isSecret, file } = VARIABLES[name];
    const spelling = spellingsOf(name).find((key) => environment[key] || dotEnv[key]) ?? name;
    const text = environment[spelling] || dotEnv[spelling] || preset;
    if (text === undefined) return { name, source: 'unset', shown: '' };
    const source = environment[spelling] ? 'environment' : dotEnv[spelling] ? '.env' : 'default';
    const shown = isSecret ? 'set' : file ? `${text} (readable)` : text;
    return { name, source, shown: spellingsOf(name).some((key) => wrong.has(key)) ? 'see below' : shown };
  });
};
