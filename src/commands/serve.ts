import { setImmediate } from 'node:timers/promises';
import { LONGEST_TIMER_MS } from '../clock.ts';
import { ConfigError, type Config } from '../config/config.ts';
import { readConfig } from '../config/environment.ts';
import { stackOf } from '../error-code.ts';
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
  const cannotStart = (why: string): number => {
    context.writeError(`banks-bff cannot start. ${why}`);
    return 1;
  };
  let config: Config;
  try {
    ({ config } = await readConfig(context.env));
  } catch (error) {
    return cannotStart(error instanceof ConfigError ? error.message : stackOf(error));
  }
  // A signal that came while all this was loaded is delivered once the event loop turns.
  if (await Promise.race([context.stopSignal.then(() => true), setImmediate(false)])) return 0;
  const log = context.openLog();
  const service = createService(config, { ...context, logDestination: log });
  /** Whether the signal to stop came before the service listened. */
  let isStartCutShort: boolean;
  try {
    const signalled = context.stopSignal.then(() => true);
    isStartCutShort = await Promise.race([signalled, service.start().then(() => false)]);
  } catch (error) {
    if (error instanceof ConfigError) return cannotStart(error.message);
    return cannotStart(
      (error instanceof Error && explainListenError(error, config)) || stackOf(error),
    );
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
