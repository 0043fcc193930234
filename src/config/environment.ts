import { lstat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { codeOf } from '../error-code.ts';
import { describeReadError, readTextFile } from '../regular-file.ts';
import { readSecretFile, SECRET_NAMES } from '../secrets/secrets.ts';
import { readTlsFiles } from '../secrets/tls-files.ts';
import { ConfigError, parseConfig, secretRulesFor } from './config.ts';
import {
  effectiveVariables,
  MAX_PROBLEMS,
  type ConfigProblem,
  type EnvironmentVariables,
} from './reader.ts';
import { isBareAddress } from './values.ts';
import { whyNoSnapshot } from './snapshot-path.ts';
import { SECRET_VARIABLES, spellingsOf, VARIABLE_NAMES, VARIABLES } from './variables.ts';

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
  const config = parseConfig(merged, problems, unusableFiles);
  const secret = VARIABLE_NAMES.filter(
    (name) => VARIABLES[name].isSecret ?? VARIABLES[name].hasSecretQuery,
  );
  for (const name of secret.flatMap(spellingsOf)) delete env[name];
  return { config, unusableFiles };
};

/**
 * Reads the environment and the `.env` file for a person to check, and changes nothing. There is no
 * `error` where the service can start with this configuration. `secrets` are those in variables,
 * valid or not.
 */
export const checkConfig = async (env: ProcessEnvironment) => {
  const { merged, problems, unusableFiles } = await readSources(env);
  let error: ConfigError | undefined;
  try {
    parseConfig(merged, [...problems, ...unusableFiles]);
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    error = thrown;
  }
  return {
    variables: effectiveVariables(env, merged, error?.problems ?? []),
    error,
    secrets: SECRET_VARIABLES.flatMap((name) =>
      spellingsOf(name)
        .map((spelling) => [spelling, merged[spelling] ?? ''] as const)
        // The text of a problem may have an address in it, too.
        .filter(([, text]) => !(VARIABLES[name].isAddress && isBareAddress(text))),
    ),
  };
};

/** All that the configuration is read from, and what is wrong with its files. */
const readSources = async (environment: ProcessEnvironment) => {
  const { dotEnv, problems } = await readDotEnv();
  // An empty variable of the environment counts as unset: it does not hide one of the `.env` file.
  const set = Object.entries(environment).filter(([, value]) => value !== '');
  const merged: EnvironmentVariables = { ...dotEnv, ...Object.fromEntries(set) };
  return {
    merged,
    problems: [...problems, ...(await checkSnapshot(merged))],
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

const checkSnapshot = async (env: EnvironmentVariables): Promise<readonly ConfigProblem[]> => {
  const path = env['CACHE_SNAPSHOT_FILE'];
  if (!path) return [];
  const others = VARIABLE_NAMES.filter(
    (name) => VARIABLES[name].file && env[name] && resolve(env[name]) === resolve(path),
  );
  const text =
    others.length > 0
      ? 'name the same file, which the snapshot would replace'
      : await whyNoSnapshot(path);
  return text === undefined ? [] : [{ variables: ['CACHE_SNAPSHOT_FILE', ...others], text }];
};

const readDotEnv = async (): Promise<{
  dotEnv: EnvironmentVariables;
  problems: ConfigProblem[];
}> => {
  try {
    return parseDotEnv(await readTextFile('.env', MAX_DOT_ENV_BYTES));
  } catch (error) {
    const isMissing = codeOf(error) === 'ENOENT';
    // A link to a file that does not exist is there: its author means it to be read.
    if (isMissing && !(await isThere('.env'))) return { dotEnv: {}, problems: [] };
    const why = isMissing ? 'a link to a file that does not exist' : describeReadError(error);
    const text = `cannot be read (${why}); make it a readable, regular file in UTF-8, or remove it`;
    return { dotEnv: {}, problems: [{ variables: ['.env'], text }] };
  }
};

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * Node's parser reports nothing: it takes a line without `=` for a part of the next name, the last
 * of two values, and only a part of some; a tab before a name is a part of it. It gets the text
 * without the lines that have no `=`, and each name must be in what it returns.
 */
const parseDotEnv = (text: string): { dotEnv: EnvironmentVariables; problems: ConfigProblem[] } => {
  // A quoted value may have several lines. Only empty quotes and its line breaks stay, so that the
  // lines keep their numbers.
  const unquoted = text.replaceAll(
    QUOTED,
    (quoted, start: string) => `${start}""${quoted.replaceAll(/[^\n]/g, '')}`,
  );
  const lineOf = new Map<string, number>();
  const lines = text.split('\n');
  const problems: ConfigProblem[] = [];
  for (const [index, line] of unquoted.split('\n').entries()) {
    if (problems.length >= MAX_PROBLEMS) break;
    if (/^\s*(?:#|$)/.test(line)) continue;
    const variables = [`.env line ${index + 1}`];
    const [assignment = '', name] = ASSIGNMENT.exec(line) ?? [];
    if (name === undefined) {
      problems.push({ variables, text: 'is not NAME=value; write = after the name' });
      lines[index] = '';
      continue;
    }
    const first = lineOf.get(name);
    lineOf.set(name, first ?? index + 1);
    if (first !== undefined)
      problems.push({ variables, text: `gives ${name}, as line ${first} does; keep one of them` });
    const cut = cutProblem(line.slice(assignment.length));
    if (cut) problems.push({ variables: [...variables, name], text: cut });
  }
  const dotEnv = parseEnv(lines.join('\n'));
  // Other problems may be the reason: a line that is left out may have closed quotes.
  const unread = problems.length > 0 ? [] : [...lineOf];
  for (const [name, line] of unread)
    if (!Object.hasOwn(dotEnv, name))
      problems.push({
        variables: [`.env line ${line}`, name],
        text: 'is not read; write NAME=value, without tabs, and with one space after export',
      });
  return { dotEnv, problems };
};

/**
 * What is wrong with a value of which the parser would drop the end: what follows the closing
 * quote, and outside of quotes what follows a `#`. @param value without what is inside its quotes
 */
const cutProblem = (value: string): string | undefined => {
  if (/^[ \t]*""(?![ \t]*\r?$|[ \t]+#)/.test(value))
    return 'has more after the closing quote; put all of the value in other quotes, or a space before the # of a comment';
  // An opening quote that is never closed is a part of the value, as all that follows it.
  if (/^[ \t]*[^ \t#"'`][^#]*(?<![ \t])#|^#/.test(value))
    return 'has a # in its value; put the value in quotes, or a space before the # of a comment';
  return undefined;
};

const ASSIGNMENT = /^\s*(?:export\s+)?([\w.-]+)\s*=/;
const QUOTED = /^([ \t]*(?:export[ \t]+)?[\w.-]+[ \t]*=[ \t]*)(["'`])[^]*?\2/gm;

/** Far more than all variables take. */
const MAX_DOT_ENV_BYTES = 65_536;
