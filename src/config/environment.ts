import { parseEnv } from 'node:util';
import { codeOf } from '../error-code.ts';
import { describeReadError, readRegularFileSync } from '../regular-file.ts';
import { MAX_SECRET_BYTES } from '../secrets/secret-rules.ts';
import { checkTlsFilesSync } from '../secrets/tls-files.ts';
import { ConfigError, parseConfig, type Config, type FileChecks } from './config.ts';
import { effectiveVariables, type EffectiveVariable, type Sources } from './effective.ts';
import { SECRET_VARIABLES, spellingsOf, type VariableName } from './variables.ts';

// The process's environment and the .env file, read once at the start. All commands read them here, so that the doctor
// and check-config judge what the service will use.

/** The variables of a process, as `process.env`. */
export type ProcessEnvironment = Record<string, string | undefined>;

/**
 * Reads the environment, which takes precedence over a `.env` file, and deletes the secrets from `env`.
 * @throws {ConfigError} with every problem
 */
export const readConfig = (env: ProcessEnvironment): Config => {
  const config = parseConfig(merge({ environment: env, dotEnv: readDotEnv() }), FILE_CHECKS);
  for (const name of SECRET_VARIABLES.flatMap(spellingsOf)) delete env[name];
  return config;
};

export interface ConfigCheck {
  readonly variables: readonly EffectiveVariable[];
  /** One line each; none where the service can start with this configuration. */
  readonly problems: readonly string[];
  /** The secrets in variables, valid or not. */
  readonly secrets: readonly (readonly [VariableName, string])[];
}

/** Reads the environment and the `.env` file for a person to check. Changes nothing. */
export const checkConfig = (env: ProcessEnvironment): ConfigCheck => {
  const problems: string[] = [];
  const collect = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const sources = { environment: env, dotEnv: collect(readDotEnv) ?? {} };
  const merged = merge(sources);
  collect(() => parseConfig(merged, FILE_CHECKS));
  return {
    variables: effectiveVariables(sources, problems),
    problems,
    secrets: SECRET_VARIABLES.flatMap((name) =>
      spellingsOf(name).map((spelling) => [name, merged[spelling] ?? ''] as const),
    ),
  };
};

/** An empty variable of the environment counts as unset: it does not hide one of the `.env` file. */
const merge = ({ environment, dotEnv }: Sources): Sources['environment'] => ({
  ...dotEnv,
  ...Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== '')),
});

/** @throws {ConfigError} where there is a `.env` that cannot be read */
const readDotEnv = (): Sources['dotEnv'] => {
  try {
    return parseEnv(UTF_8.decode(readRegularFileSync('.env', MAX_DOT_ENV_BYTES)));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    const reason =
      codeOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'not UTF-8' : describeReadError(error);
    throw new ConfigError([
      `.env: cannot be read (${reason}); make it a readable, regular file in UTF-8, or remove it`,
    ]);
  }
};

/** Far more than all variables take. */
const MAX_DOT_ENV_BYTES = 262_144;

/** Drops a byte order mark, which some editors write: it would become part of the first variable's name. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

const whyUnreadable = (path: string): string | undefined => {
  try {
    readRegularFileSync(path, MAX_SECRET_BYTES);
    return undefined;
  } catch (error) {
    return describeReadError(error);
  }
};

const FILE_CHECKS: FileChecks = {
  whyUnreadable,
  tlsProblems: (files) => checkTlsFilesSync(files, Date.now()),
};
