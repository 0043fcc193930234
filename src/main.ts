import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parseEnv } from 'node:util';
import { ConfigError, parseConfig, SECRET_VARIABLES, type Config, type Environment } from './config.ts';
import { createLogDestination } from './log-destination.ts';
import { createService } from './service.ts';

// The process: its environment, its signals, its standard output, its exit status. Nothing else touches these.

const main = async (): Promise<void> => {
  const config = readConfig();
  const logDestination = createLogDestination(1);
  const service = createService(config, { version: readVersion(), logDestination });
  const stop = async (noticeMs: number): Promise<void> => {
    // A second signal means now.
    for (const signal of ['SIGTERM', 'SIGINT'])
      process.removeAllListeners(signal).on(signal, () => process.exit(1));
    await service.stop({ noticeMs });
    logDestination.flushSync();
    process.exit(0);
  };
  process.once('SIGTERM', () => void stop(config.shutdownGraceMs / 3));
  // Ctrl-C: a person is waiting for it, and no load balancer is.
  process.once('SIGINT', () => void stop(0));
  await service.start();
};

/** Reads the environment, and before it a `.env` file where there is one. Secrets do not stay in the environment. */
const readConfig = (): Config => {
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

const readVersion = (): string => {
  const manifest: unknown = createRequire(import.meta.url)('#package.json');
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isManifest ? String(manifest.version) : 'unknown';
};

/** What a person reads when the service cannot start. */
const explain = (error: unknown): string => {
  if (error instanceof ConfigError)
    return [error.message, ...error.problems.map((line) => `  ${line}`)].join('\n');
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return 'PORT: is in use already; choose another one, or stop what listens there';
    case 'EACCES':
      return 'PORT: may not be bound by this user; choose one above 1023';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'HOST: is no address of this machine; use 0.0.0.0 for all of them';
    default:
      return error instanceof Error ? (error.stack ?? error.message) : 'unknown error';
  }
};

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

try {
  await main();
} catch (error) {
  process.stderr.write(`banks-bff cannot start. ${explain(error)}\n`);
  process.exit(1);
}
