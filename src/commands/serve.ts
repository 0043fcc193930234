import { setImmediate } from 'node:timers/promises';
import { LONGEST_TIMER_MS } from '../clock.ts';
import { ConfigError, type Config } from '../config/config.ts';
import { readConfig } from '../config/environment.ts';
import { stackOf } from '../errors.ts';
import { explainListenError } from '../doctor/ports.ts';
import { createService } from '../service.ts';
import type { ServeContext } from './command-line.ts';

/** What a stop may take beyond SHUTDOWN_GRACE: closing connections, and writing files. */
const STOP_MARGIN_MS = 2_000;

/**
 * Runs the service until a signal stops it. @returns 0 once it has stopped; 1 if it cannot start,
 * or stop in time
 */
export const serve = async (context: ServeContext): Promise<number> => {
  const signalled = context.stopSignal.then(() => true);
  let config: Config | undefined;
  let service: ReturnType<typeof createService>;
  /** Whether the signal to stop came before the service listened. */
  let isStartCutShort: boolean;
  try {
    ({ config } = await readConfig(context.env));
    // A signal that came while all this was loaded is delivered once the event loop turns.
    if (await Promise.race([signalled, setImmediate(false)])) return 0;
    service = createService(config, { ...context, logDestination: context.openLog() });
    isStartCutShort = await Promise.race([signalled, service.start().then(() => false)]);
  } catch (error) {
    context.writeError(`banks-bff cannot start. ${whyNotStarted(error, config)}`);
    return 1;
  }
  // After Ctrl-C a person is waiting, and no load balancer needs time to notice.
  const isSudden = (await context.stopSignal) === 'SIGINT' || isStartCutShort;
  const noticeMs = isSudden ? 0 : config.shutdownGraceMs / 3;
  const longestMs = Math.min(config.shutdownGraceMs + STOP_MARGIN_MS, LONGEST_TIMER_MS);
  const timeout = new Promise<'timeout'>((resolve) => setTimeout(resolve, longestMs, 'timeout'));
  if ((await Promise.race([service.stop({ noticeMs }), timeout])) === 'timeout') {
    context.writeError(`banks-bff did not stop within ${longestMs} ms.`);
    return 1;
  }
  return 0;
};

/** @param config undefined if it could not be read */
const whyNotStarted = (error: unknown, config: Config | undefined): string => {
  if (error instanceof ConfigError) return error.message;
  return (config && explainListenError(error, config)) ?? stackOf(error);
};
