import type { SecretName, SecretSource } from '../secrets/secrets.ts';
import { InvalidValue } from './values.ts';
import {
  spellingsOf,
  VARIABLE_NAMES,
  VARIABLES,
  type DefaultedName,
  type VariableName,
  type Values,
} from './variables.ts';

// Single variables: parsed, with everything that is wrong with them, and listed for a person to
// check. Pure.

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** What is wrong with these variables, and what would be right; never a value. */
export interface ConfigProblem {
  readonly variables: readonly string[];
  readonly text: string;
}

/** Further ones are not looked for: it is another file, or another program's environment. */
export const MAX_PROBLEMS = 100;

/** The name under which a variable is set. */
const spellingIn = (env: EnvironmentVariables, name: VariableName): string =>
  spellingsOf(name).find((key) => env[key]) ?? name;

export type VariableReader = ReturnType<typeof createReader>;

export const createReader = (env: EnvironmentVariables) => {
  const problems: ConfigProblem[] = [];
  const reported = new Set<string>();
  const isFull = (): boolean => problems.length === MAX_PROBLEMS;
  /**
   * One mistake is one problem: a further one of variables that all have one already is ignored.
   */
  const report = (names: string | readonly string[], text: string): void => {
    const variables = [names].flat();
    if (isFull() || variables.every((name) => reported.has(name))) return;
    problems.push({ variables, text });
    for (const name of variables) reported.add(name);
  };
  /** Whether the variable has a value. An empty one counts as unset. */
  const isSet = (name: VariableName): boolean => Boolean(env[spellingIn(env, name)]);

  /**
   * The parsed value; undefined while the variable is unset or its value is invalid, which has been
   * reported.
   */
  const optional = <N extends VariableName>(name: N): Values[N] | undefined => {
    const text = env[spellingIn(env, name)];
    if (!text) return undefined;
    try {
      return VARIABLES[name].parse(text);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      report(spellingIn(env, name), error.message);
      return undefined;
    }
  };
  // A mistake in a variable that is not used yet is found today.
  for (const name of VARIABLE_NAMES) optional(name);

  /**
   * The parsed value, or the default's: also for an invalid value, so that the other problems can
   * still be found.
   */
  const defaulted = <N extends DefaultedName>(name: N): Values[N] =>
    optional(name) ?? VARIABLES[name].parse(VARIABLES[name].default ?? '');

  /**
   * A secret from its variable or from the file that `${name}_FILE` names; both at once are a
   * problem.
   */
  const secret = (name: SecretName): SecretSource | undefined => {
    const path = optional(`${name}_FILE`);
    if (path === undefined) return optional(name);
    if (isSet(name)) report(`${name}_FILE`, `is set as well as ${name}; keep one`);
    return { path };
  };
  return { problems, report, isFull, isSet, optional, defaulted, secret };
};

/**
 * The variables as the service would use them. `shown` is the value, or what may be said of it:
 * never a secret, or a value that a problem is about, which may be a misplaced one.
 * @param merged `environment` with what the `.env` file adds to it
 * @param problems of these variables
 */
export const effectiveVariables = (
  environment: EnvironmentVariables,
  merged: EnvironmentVariables,
  problems: readonly ConfigProblem[],
) => {
  const wrong = new Set(problems.flatMap(({ variables }) => variables));
  return VARIABLE_NAMES.map((name) => {
    const { default: preset, isSecret, hasSecretQuery, file } = VARIABLES[name];
    const spelling = spellingIn(merged, name);
    const text = merged[spelling] || preset;
    if (text === undefined) return { name, source: 'unset', shown: '' };
    let source = 'default';
    if (merged[spelling]) source = '.env';
    if (environment[spelling]) source = 'environment';
    let shown = file ? `${text} (readable)` : text;
    if (isSecret) shown = 'set';
    if (hasSecretQuery) shown = text.replace(/\?.+$/s, '?[redacted]');
    if (spellingsOf(name).some((key) => wrong.has(key))) shown = 'see below';
    return { name, source, shown };
  });
};
