import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { ConfigError } from './config.ts';
import { readConfig } from './environment.ts';
import { codeOf } from './error-code.ts';
import { createLogDestination } from './log-destination.ts';
import { createRedaction } from './secrets/redaction.ts';
import { createService } from './service.ts';
import { forPeople } from './telemetry/terminal.ts';

// The process: its signals, its standard output, its exit status. Nothing else touches these.

const redaction = createRedaction();

const main = async (): Promise<void> => {
  const config = readConfig();
  const output = createLogDestination(1);
  const logDestination = process.stdout.isTTY ? forPeople(output) : output;
  const service = createService(config, { version: readVersion(), logDestination, redaction });
  process.on('uncaughtException', (error) => {
    // What was logged before tells how it came to this.
    attempt(() => logDestination.flushSync());
    exitWith(`banks-bff ended by an error that it did not foresee. ${stacksOf(error)}`);
  });
  let stopping = false;
  const stop = async (noticeMs: number): Promise<void> => {
    // A second signal means now.
    if (stopping) process.exit(1);
    stopping = true;
    await service.stop({ noticeMs });
    logDestination.flushSync();
    process.exit(0);
  };
  // For good, not once: while the snapshot is being written its library listens too, and where it finds itself alone
  // it sends the signal again, which would be the second one.
  process.on('SIGTERM', () => void stop(config.shutdownGraceMs / 3));
  // Ctrl-C: a person is waiting for it, and no load balancer is.
  process.on('SIGINT', () => void stop(0));
  await service.start();
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
      return `PORT or MANAGEMENT_PORT: ${portOf(error)} is in use already; choose another one, or stop what listens there`;
    case 'EACCES':
      return `PORT or MANAGEMENT_PORT: ${portOf(error)} may not be bound by this user; choose one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'HOST or MANAGEMENT_HOST: is no address of this machine; use 0.0.0.0 for all of them';
    default:
      return stacksOf(error);
  }
};

const portOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'port' in error ? String(error.port) : 'it';

const stacksOf = (error: unknown): string => trail(error).join('\ncaused by ') || 'unknown error';

/** The stacks of an error and its causes. Never its other properties: HTTP clients keep whole requests in them. */
const trail = (error: unknown, depth = 0): string[] => {
  if (typeof error !== 'object' || error === null || depth > 8) return [];
  const stack = 'stack' in error && typeof error.stack === 'string' ? [error.stack] : [];
  return [...stack, ...('cause' in error ? trail(error.cause, depth + 1) : [])];
};

/** Ends the process with the last words it may say: by the synchronous call, since nothing asynchronous would be seen. */
const exitWith = (words: string): never => {
  attempt(() => writeSync(2, `${redaction.redact(words)}\n`));
  process.exit(1);
};

/** Runs the last steps of a process that ends anyway: a closed standard error must not keep it. */
const attempt = (step: () => unknown): void => {
  try {
    step();
  } catch {
    // There is nobody left to tell.
  }
};

try {
  await main();
} catch (error) {
  exitWith(`banks-bff cannot start. ${explain(error)}`);
}
