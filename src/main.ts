#!/usr/bin/env node
import {
  USAGE,
  LAST_LINES_MS,
  parseCommandLine,
  type ProgramCommand,
  type ServeContext,
} from './commands/command-line.ts';
import { stackOf } from './error-code.ts';
import { createRedaction } from './secrets/redaction.ts';
import { createLogDestination, openNonBlocking, writeWithin } from './telemetry/log-stream.ts';
import { pretty } from './telemetry/pretty.ts';
import { readVersion } from './version.ts';

// The process: its arguments, environment, signals, output and exit status. Nothing else touches these.

// Without a listener Node would open its debugger on port 9229, for anybody who can connect to it.
process.on('SIGUSR1', () => undefined);
process.on('uncaughtException', (error) => exitAfter(`banks-bff: unexpected error. ${stackOf(error)}`));

const redaction = createRedaction();
const stdoutFd = openNonBlocking(process.stdout);
const stderrFd = openNonBlocking(process.stderr);

const writeError = (text: string): void =>
  writeWithin(stderrFd, Buffer.from(`${redaction.redact(text)}\n`), LAST_LINES_MS);

/** Writes why the process ends, before the log's last lines: those may have no reader. */
const exitAfter = (text: string): never => {
  writeError(text);
  process.exit(1);
};

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
    return process.stdout.isTTY ? pretty(log) : log;
  },
  stopSignal: () =>
    new Promise((resolve) => {
      let isStopping = false;
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        process.on(signal, () => {
          // A second signal means now.
          if (isStopping) process.exit(1);
          isStopping = true;
          resolve(signal);
        });
      }
    }),
};

/** Each command is loaded only when it is used. */
const run = async (name: ProgramCommand): Promise<number> => {
  switch (name) {
    case 'serve':
      return (await import('./commands/serve.ts')).serve(context);
    case 'doctor':
      return (await import('./commands/doctor.ts')).doctor(context);
    case 'check-config':
      return (await import('./commands/check-config.ts')).printConfig(context);
  }
};

const request = parseCommandLine(process.argv.slice(2));
switch (request.kind) {
  case 'help':
    context.write(USAGE);
    break;
  case 'version':
    context.write(`${context.version}\n`);
    break;
  case 'usage-error':
    writeError(request.problem);
    process.exitCode = 2;
    break;
  case 'command':
    process.exitCode = await run(request.name);
    // What could not be closed in time must not keep the service running. Other commands end once their output is read.
    if (request.name === 'serve') process.exit();
}
