#!/usr/bin/env node
import { constants } from 'node:os';
import type { ProgramCommand, ServeContext, StopSignal } from './commands/command-line.ts';

// The process: its arguments, environment, signals, output and exit status. Nothing else touches
// these.

/** The first signal that asks the process to stop. A second one means now. */
const stopSignal = new Promise<StopSignal>((resolve) => {
  let isStopping = false;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      resolve(signal);
    });
});
// Without a listener Node would open its debugger on port 9229, for anybody who can connect to it.
process.on('SIGUSR1', () => undefined);

// Express would print each request with its query, past the redaction. It reads this when it loads.
// oxlint-disable-next-line node/no-process-env -- nothing else may see it
delete process.env['DEBUG'];

// Loaded only now: as process 1 of a container the process does not even get a signal that it does
// not listen for.
const { parseCommandLine, USAGE } = await import('./commands/command-line.ts');
const { stackOf } = await import('./errors.ts');
const { createRedaction } = await import('./secrets/redaction.ts');
const { createLogDestination, openNonBlocking, writeWithin } =
  await import('./telemetry/log-stream.ts');
const { readVersion } = await import('./version.ts');

/**
 * How long the end may wait for a reader of the log's last lines, in milliseconds, and again for an
 * error's text.
 */
const LAST_LINES_MS = 250;

const redaction = createRedaction();
const stdoutFd = openNonBlocking(process.stdout);
const stderrFd = openNonBlocking(process.stderr);

const writeError = (text: string): void =>
  writeWithin(stderrFd, Buffer.from(`${redaction.redact(text)}\n`), LAST_LINES_MS);

process.on('uncaughtException', (error) => {
  // Before the log's last lines: those may have no reader.
  writeError(`banks-bff: unexpected error. ${stackOf(error)}`);
  process.exit(1);
});

const context: ServeContext = {
  // oxlint-disable-next-line node/no-process-env -- the one place that reads it
  env: process.env,
  version: readVersion(),
  redaction,
  write: (text) => {
    // A reader that has gone away, such as `head`, changes no exit status.
    process.stdout.once('error', () => undefined).write(redaction.redact(text));
  },
  writeError,
  openLog: () => {
    const log = createLogDestination(stdoutFd);
    process.on('exit', () => log.flushSync(LAST_LINES_MS));
    return log;
  },
  stopSignal,
};

/** Each command is loaded only when it is used. */
const RUN: Readonly<Record<ProgramCommand, (argument: string) => Promise<number>>> = {
  serve: async () => (await import('./commands/serve.ts')).serve(context),
  doctor: async () => (await import('./commands/doctor.ts')).doctor(context),
  snapshot: async (file) => (await import('./commands/snapshot.ts')).snapshot(file, context),
  'check-config': async () => (await import('./commands/check-config.ts')).printConfig(context),
};

const request = parseCommandLine(process.argv.slice(2));
if (request === 'help') {
  context.write(USAGE);
} else if (request === 'version') {
  context.write(`${context.version}\n`);
} else if ('problem' in request) {
  writeError(request.problem);
  process.exitCode = 2;
} else {
  const { command, argument } = request;
  // Only the service stops in an orderly way. The status is that of a shell for a program that a
  // signal ended.
  if (command !== 'serve')
    void stopSignal.then((signal) => process.exit(128 + constants.signals[signal]));
  process.exitCode = await RUN[command](argument);
  // What could not be closed in time must not keep the service running. Other commands end once
  // their output is read.
  if (command === 'serve') process.exit();
}
