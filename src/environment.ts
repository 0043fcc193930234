import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError, parseConfig, SECRET_VARIABLES, type Config, type Environment } from './config.ts';
import { codeOf } from './error-code.ts';

// The environment that a program of this product runs in, read once at its start. The service and its doctor read it
// through here, so that the one examines what the other will use.

/**
 * Reads the environment, and before it a `.env` file where there is one. Secrets do not stay in the environment.
 * @throws {ConfigError} with every problem
 */
export const readConfig = (): Config => {
  // oxlint-disable-next-line node/no-process-env -- the one place that reads it
  const { env } = process;
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const config = parseConfig({ ...readDotEnv(), ...set }, whyUnreadable);
  for (const name of SECRET_VARIABLES) delete env[name];
  return config;
};

const readDotEnv = (): Environment => {
  try {
    return parseEnv(readFileSync('.env', 'utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    throw new ConfigError([`.env: cannot be read (${codeOf(error)}); make it readable or remove it`]);
  }
};

const whyUnreadable = (path: string): string | undefined => {
  try {
    readFileSync(path);
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
};
