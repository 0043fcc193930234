import type { Environment } from './reader.ts';
import { InvalidValue } from './values.ts';
import { spellingsOf, VARIABLE_NAMES, VARIABLES, type VariableName } from './variables.ts';

// The configuration as the service would use it, variable by variable, for a person to check. Pure.

export interface EffectiveVariable {
  readonly name: VariableName;
  readonly source: 'environment' | '.env' | 'default' | 'unset';
  /** `readable` and `unreadable` are files. */
  readonly state: 'value' | 'secret' | 'readable' | 'unreadable' | 'invalid' | 'unset';
  /**
   * The value or the path. Empty unless the state is `value` or `readable`: an invalid value, or a path that leads
   * nowhere, may be a secret in the wrong variable.
   */
  readonly text: string;
}

export interface Sources {
  readonly environment: Environment;
  /** The variables of the `.env` file; those of the environment take precedence. */
  readonly dotEnv: Environment;
}

/** @param isReadable whether a file can be read */
export const effectiveVariables = (
  sources: Sources,
  isReadable: (path: string) => boolean,
): readonly EffectiveVariable[] =>
  VARIABLE_NAMES.map((name) => {
    const { source, text } = find(name, sources);
    const state = source === 'unset' ? 'unset' : judge(name, text, isReadable);
    return { name, source, state, text: state === 'value' || state === 'readable' ? text : '' };
  });

/** An empty value counts as unset. */
const find = (
  name: VariableName,
  { environment, dotEnv }: Sources,
): { readonly source: EffectiveVariable['source']; readonly text: string } => {
  for (const spelling of spellingsOf(name)) {
    if (environment[spelling]) return { source: 'environment', text: environment[spelling] };
    if (dotEnv[spelling]) return { source: '.env', text: dotEnv[spelling] };
  }
  const text = VARIABLES[name].default;
  return text === undefined ? { source: 'unset', text: '' } : { source: 'default', text };
};

const judge = (
  name: VariableName,
  text: string,
  isReadable: (path: string) => boolean,
): EffectiveVariable['state'] => {
  const { parse, isSecret, isSecretFile } = VARIABLES[name];
  try {
    parse(text);
  } catch (error) {
    if (error instanceof InvalidValue) return 'invalid';
    throw error;
  }
  if (isSecret) return 'secret';
  if (isSecretFile) return isReadable(text) ? 'readable' : 'unreadable';
  return 'value';
};
