import type { Environment } from './reader.ts';
import { spellingsOf, VARIABLE_NAMES, VARIABLES, type VariableName } from './variables.ts';

// The configuration as the service would use it, variable by variable, for a person to check. Pure.

export interface EffectiveVariable {
  readonly name: VariableName;
  readonly source: 'environment' | '.env' | 'default' | 'unset';
  /** `file`: it can be read. `problem`: a problem of the configuration names the variable. */
  readonly state: 'value' | 'secret' | 'file' | 'problem' | 'unset';
  /**
   * The value, or the path. Empty unless the state is `value` or `file`: what is wrong may be a secret in the wrong
   * variable.
   */
  readonly text: string;
}

export interface Sources {
  readonly environment: Environment;
  /** The variables of the `.env` file; those of the environment take precedence. */
  readonly dotEnv: Environment;
}

/** @param problems of these sources, each beginning with the names of its variables and a colon */
export const effectiveVariables = (
  sources: Sources,
  problems: readonly string[],
): readonly EffectiveVariable[] => {
  const named = new Set(problems.flatMap((problem) => problem.split(':')[0]?.split(', ') ?? []));
  return VARIABLE_NAMES.map((name) => {
    const { source, text } = find(name, sources);
    const state = source === 'unset' ? 'unset' : stateOf(name, named);
    return { name, source, state, text: state === 'value' || state === 'file' ? text : '' };
  });
};

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

const stateOf = (name: VariableName, named: ReadonlySet<string>): EffectiveVariable['state'] => {
  if (spellingsOf(name).some((spelling) => named.has(spelling))) return 'problem';
  if (VARIABLES[name].isSecret) return 'secret';
  return VARIABLES[name].file ? 'file' : 'value';
};
