import { parseEnv } from 'node:util';
import { systemClock } from '../clock.ts';
import { codeOf } from '../errors.ts';
import { describeUnreadable, readTextFile } from '../regular-file.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { fileSourcesIn } from '../secrets/secret.ts';
import { ConfigError, readVariables, type ConfigProblem } from './config.ts';
import { whyNoSnapshot } from './snapshot-path.ts';
import {
  defaultOf,
  SECRET_VARIABLES,
  spellingsOf,
  textOf,
  VARIABLE_NAMES,
  type EnvironmentVariables,
} from './variables.ts';

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
  const { config, problems, unusableFiles } = await readSources(env);
  if (!config || problems.length > 0) throw new ConfigError([...problems, ...unusableFiles]);
  for (const name of SECRET_VARIABLES.flatMap(spellingsOf)) delete env[name];
  return { config, unusableFiles };
};

/**
 * Reads the same for a person to check, and changes nothing. There is no `error` where the service
 * can start with this configuration.
 */
export const checkConfig = async (env: ProcessEnvironment) => {
  const { merged, ...read } = await readSources(env);
  const problems = [...read.problems, ...read.unusableFiles];
  const wrong = new Set(problems.map(({ variable }) => variable));
  /**
   * Each as the service would use it; never a secret, or a value that a problem is about, which may
   * be a misplaced one.
   */
  const variables = VARIABLE_NAMES.map((name) => {
    const text = textOf(merged, name);
    const preset = defaultOf(name);
    let source = preset === '' ? 'unset' : 'default';
    if (text) source = text === textOf(env, name) ? 'environment' : '.env';
    let shown = text ?? preset;
    if (text && SECRET_VARIABLES.includes(name)) shown = 'set';
    if (wrong.has(name)) shown = 'see below';
    return { name, source, shown };
  });
  return { variables, error: problems.length > 0 ? new ConfigError(problems) : undefined };
};

/** All that the configuration is read from, and what is wrong with it. */
const readSources = async (env: ProcessEnvironment) => {
  const { dotEnv, problem } = await readDotEnv();
  // An empty variable of the environment counts as unset: it does not hide one of the `.env` file.
  const set = Object.entries(env).filter(([, value]) => value !== '');
  const merged: EnvironmentVariables = { ...dotEnv, ...Object.fromEntries(set) };
  const { config, problems } = readVariables(merged);
  const snapshot = merged['CACHE_SNAPSHOT_FILE'];
  const noSnapshot = snapshot ? await whyNoSnapshot(snapshot) : undefined;
  return {
    merged,
    config,
    problems: [
      ...problems,
      ...(problem === undefined ? [] : [{ variable: '.env', problem }]),
      ...(noSnapshot === undefined
        ? []
        : [{ variable: 'CACHE_SNAPSHOT_FILE', problem: noSnapshot }]),
    ],
    unusableFiles: await checkSecretFiles(merged),
  };
};

/** Also where the configuration has other problems. */
const checkSecretFiles = (env: EnvironmentVariables): Promise<readonly ConfigProblem[]> => {
  return createSecrets(fileSourcesIn(env), {
    environment: env['PROVIDER_ENVIRONMENT'],
    addSecret: () => undefined,
    clock: systemClock,
    onEvent: () => undefined,
  }).check();
};

/** Far more than all variables take. */
const MAX_DOT_ENV_BYTES = 65_536;

const readDotEnv = async (): Promise<{ dotEnv?: EnvironmentVariables; problem?: string }> => {
  try {
    return { dotEnv: parseEnv(await readTextFile('.env', MAX_DOT_ENV_BYTES)) };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    return { problem: describeUnreadable(error, MAX_DOT_ENV_BYTES) };
  }
};
