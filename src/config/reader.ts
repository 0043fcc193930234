import type { SecretName, SecretSource } from '../secrets/secrets.ts';
import {
  isUnknown,
  SCHEMA,
  spellingsOf,
  VARIABLE_NAMES,
  type VariableName,
  type Values,
} from './variables.ts';

// The environment as values, and everything that is wrong with single variables. Pure.

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** What is wrong with these variables, and what would be right; never a value. */
export interface ConfigProblem {
  readonly variables: readonly string[];
  readonly text: string;
}

/** The name under which a variable is set. */
export const spellingIn = (env: EnvironmentVariables, name: VariableName): string =>
  spellingsOf(name).find((key) => env[key]) ?? name;

export interface Variables {
  /** A variable that is not set, or wrong, has its default. An empty string counts as unset. */
  readonly values: Values;
  readonly isSet: (name: VariableName) => boolean;
  readonly problems: readonly ConfigProblem[];
}

export const readVariables = (env: EnvironmentVariables): Variables => {
  const set = new Map(
    VARIABLE_NAMES.map((name) => [name, env[spellingIn(env, name)]] as const).filter(
      ([, text]) => text,
    ),
  );
  const quoted = [...set].filter(([, text = '']) => /^(["'`])[^]*\1$/.test(text));
  const issues = SCHEMA.safeParse(Object.fromEntries(set)).error?.issues ?? [];
  const wrong = new Map<PropertyKey, string>([
    // The first issue of a variable counts.
    ...issues.map(({ path: [name = ''], message }) => [name, message] as const).toReversed(),
    ...quoted.map(([name]) => [name, IN_QUOTES] as const),
  ]);
  const unknown = Object.keys(env).filter((name) => env[name] && isUnknown(name));
  return {
    values: SCHEMA.parse(Object.fromEntries([...set].filter(([name]) => !wrong.has(name)))),
    isSet: (name) => set.has(name),
    problems: [
      ...VARIABLE_NAMES.flatMap((name) => {
        const text = wrong.get(name);
        return text === undefined ? [] : [{ variables: [spellingIn(env, name)], text }];
      }),
      ...unknown.map((name) => ({ variables: [name], text: UNKNOWN })),
    ],
  };
};

/** A secret from its variable, or the file that `${name}_FILE` names. */
export const sourceOf = (values: Values, name: SecretName): SecretSource | undefined => {
  const path = values[`${name}_FILE`];
  return path === undefined ? values[name] : { path };
};

const IN_QUOTES = 'is in quotes, which docker --env-file keeps; write it without them';
const UNKNOWN = 'is not a variable of this service; .env.example lists them all';
