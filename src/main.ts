import { createRequire } from 'node:module';
import { pino } from 'pino';
import { ConfigError } from './config.ts';
import { codeOf, readConfig } from './environment.ts';
import { createService } from './service.ts';

// The process: its signals, its standard output, its exit status. Nothing else touches these.

const main = async (): Promise<void> => {
  const config = readConfig();
  // Asynchronous, so that a slow reader of the log does not slow the service; bounded, so that one that never reads
  // does not fill the memory: what comes above the bound is dropped.
  // Lines are gathered up to 4 kB or a tenth of a second: one system call for each would cost more than its answer.
  const logDestination = pino.destination({
    fd: 1,
    sync: false,
    maxLength: 4 * 1024 * 1024,
    minLength: 4_096,
    periodicFlush: 100,
  });
  // A reader that has gone away (EPIPE) ends the log, not the service.
  logDestination.on('error', () => undefined);

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

try {
  await main();
} catch (error) {
  process.stderr.write(`banks-bff cannot start. ${explain(error)}\n`);
  process.exit(1);
}
