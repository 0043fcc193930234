import { parseEnv } from 'node:util';
import { codeOf } from '../error-code.ts';
import { describeReadError, readRegularFileSync } from '../regular-file.ts';
import { MAX_SECRET_BYTES } from '../secrets/secret-rules.ts';
import { ConfigError, parseConfig, type Config } from './config.ts';
import type { Environment } from './reader.ts';
import { SECRET_VARIABLES } from './variables.ts';

// The process's environment and the .env file, read once at the start. The service and its doctor both read them here,
// so that the doctor examines what the service will use.

/**
 * Reads the environment, which wins over a `.env` file where there is one. Secrets do not stay in the environment.
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
    return parseEnv(UTF_8.decode(readRegularFileSync('.env', MAX_DOT_ENV_BYTES)));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    const reason = codeOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'not UTF-8' : describeReadError(error);
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
