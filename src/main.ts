import { createRequire } from 'node:module';
import { LONGEST_TIMER_MS } from './clock.ts';
import { ConfigError } from './config/config.ts';
import { readConfig } from './config/environment.ts';
import { codeOf } from './error-code.ts';
import { createLogDestination, openNonBlocking, writeWithin } from './telemetry/log-stream.ts';
import { createRedaction } from './secrets/redaction.ts';
import { createService } from './service.ts';
import { pretty } from './telemetry/pretty.ts';

// The process: its signals, its standard output, its exit status. Nothing else touches these.

const redaction = createRedaction();
const stdoutFd = openNonBlocking(process.stdout);
const stderrFd = openNonBlocking(process.stderr);

/** How long the end may wait for somebody to read the last lines, in milliseconds: as much again for the last words. */
const LAST_LINES_MS = 250;
/** What a drain may take beyond SHUTDOWN_GRACE: closing connections, and files under way. */
const STOP_MARGIN_MS = 2_000;

const main = async (): Promise<void> => {
  const config = readConfig();
  const output = createLogDestination(stdoutFd);
  process.on('exit', () => output.flushSync(LAST_LINES_MS));
  const logDestination = process.stdout.isTTY ? pretty(output) : output;
  const service = createService(config, { version: readVersion(), logDestination, redaction });
  process.on('uncaughtException', (error) =>
    exitWith(`banks-bff ended by an error that it did not foresee. ${stacksOf(error)}`),
  );
  let stopping = false;
  const stop = async (noticeMs: number): Promise<void> => {
    // A second signal means now.
    if (stopping) process.exit(1);
    stopping = true;
    const longestMs = Math.min(config.shutdownGraceMs + STOP_MARGIN_MS, LONGEST_TIMER_MS);
    setTimeout(() => exitWith(`banks-bff did not stop within ${longestMs} ms.`), longestMs);
    await service.stop({ noticeMs });
    await output.drained(LAST_LINES_MS);
    process.exit(0);
  };
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
    case 'EAFNOSUPPORT':
    case 'EAI_AGAIN':
    case 'EINVAL':
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

/** Ends the process with the last words it may say, before the log's last lines: those may find no reader. */
const exitWith = (words: string): never => {
  writeWithin(stderrFd, Buffer.from(`${redaction.redact(words)}\n`), LAST_LINES_MS);
  process.exit(1);
};

try {
  await main();
} catch (error) {
  exitWith(`banks-bff cannot start. ${explain(error)}`);
}
