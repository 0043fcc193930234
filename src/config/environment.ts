import { parseEnv } from 'node:util';
import { codeOf } from '../error-code.ts';
import { describeReadError, readTextFile } from '../regular-file.ts';
import { readSecretFile, SECRET_NAMES } from '../secrets/secrets.ts';
import { readTlsFiles } from '../secrets/tls-files.ts';
import { ConfigError, parseConfig, secretRulesFor } from './config.ts';
import { spellingIn, type ConfigProblem, type EnvironmentVariables } from './reader.ts';
import { whyNoSnapshot } from './snapshot-path.ts';
import { defaultOf, SECRET_VARIABLES, spellingsOf, VARIABLE_NAMES } from './variables.ts';

// The process's environment and the .env file, read once at the start. All commands read them here,
// so that the doctor and check-config check what the service will use.

/** The variables of a process, as `process.env`. */
export type ProcessEnvironment = Record<string, string | undefined>;

/**
 * Reads the environment, which takes precedence over a `.env` file, and deletes the secrets from
 * `env`. `unusableFiles` is what is wrong with secret and TLS files: with a saved list the service
 * can start without them.
 * @throws {ConfigError} with every problem, those of the files included, if there are others too
 */
export const readConfig = async (env: ProcessEnvironment) => {
  const { merged, problems, unusableFiles } = await readSources(env);
  const { config, error } = tryParse(merged, problems);
  if (!config) throw new ConfigError([...error.problems, ...unusableFiles]);
  for (const name of SECRET_VARIABLES.flatMap(spellingsOf)) delete env[name];
  return { config, unusableFiles };
};

/**
 * Reads the same for a person to check, and changes nothing. There is no `error` where the service
 * can start with this configuration.
 */
export const checkConfig = async (env: ProcessEnvironment) => {
  const { merged, problems, unusableFiles } = await readSources(env);
  const { error } = tryParse(merged, [...problems, ...unusableFiles]);
  const wrong = new Set(error?.problems.flatMap(({ variables }) => variables));
  /**
   * Each as the service would use it; never a secret, or a value that a problem is about, which may
   * be a misplaced one.
   */
  const variables = VARIABLE_NAMES.map((name) => {
    const spelling = spellingIn(merged, name);
    const text = merged[spelling];
    const preset = defaultOf(name);
    let source = preset === '' ? 'unset' : 'default';
    if (text) source = env[spelling] ? 'environment' : '.env';
    let shown = text || preset;
    if (text && SECRET_VARIABLES.includes(name)) shown = 'set';
    if (wrong.has(spelling)) shown = 'see below';
    return { name, source, shown };
  });
  return { variables, error };
};

const tryParse = (env: EnvironmentVariables, fileProblems: readonly ConfigProblem[]) => {
  try {
    return { config: parseConfig(env, fileProblems) };
  } catch (error) {
    if (error instanceof ConfigError) return { error };
    throw error;
  }
};

/** All that the configuration is read from, and what is wrong with its files. */
const readSources = async (environment: ProcessEnvironment) => {
  const { dotEnv, problems } = await readDotEnv();
  // An empty variable of the environment counts as unset: it does not hide one of the `.env` file.
  const set = Object.entries(environment).filter(([, value]) => value !== '');
  const merged: EnvironmentVariables = { ...dotEnv, ...Object.fromEntries(set) };
  const snapshot = merged['CACHE_SNAPSHOT_FILE'];
  const why = snapshot ? await whyNoSnapshot(snapshot) : undefined;
  return {
    merged,
    problems: [
      ...problems,
      ...(why === undefined ? [] : [{ variables: ['CACHE_SNAPSHOT_FILE'], text: why }]),
    ],
    unusableFiles: await checkSecretFiles(merged),
  };
};

const checkSecretFiles = async (env: EnvironmentVariables): Promise<readonly ConfigProblem[]> => {
  const rules = secretRulesFor(env['PROVIDER_ENVIRONMENT']);
  const readings = await Promise.all([
    ...SECRET_NAMES.map(async (name) => {
      const path = env[`${name}_FILE`];
      return path ? readSecretFile(name, path, rules) : { problems: [] };
    }),
    readTlsFiles(env, Date.now()),
  ]);
  return readings.flatMap(({ problems }) =>
    problems.map(({ variable, text }) => ({ variables: [variable], text })),
  );
};

/** Far more than all variables take. */
const MAX_DOT_ENV_BYTES = 65_536;

const readDotEnv = async (): Promise<{
  dotEnv: EnvironmentVariables;
  problems: readonly ConfigProblem[];
}> => {
  try {
    return { dotEnv: parseEnv(await readTextFile('.env', MAX_DOT_ENV_BYTES)), problems: [] };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { dotEnv: {}, problems: [] };
    const text = `cannot be read (${describeReadError(error)}); make it a readable, regular file in UTF-8, or remove it`;
    return { dotEnv: {}, problems: [{ variables: ['.env'], text }] };
  }
};
