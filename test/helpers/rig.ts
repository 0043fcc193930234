import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import zlib, { type BrotliOptions, type InputType, type ZlibOptions } from 'node:zlib';
import type { Emulator, EmulatorOptions } from '../../emulator/emulator.ts';
import type { Compressors } from '../../src/banks/representation.ts';
import type { LoadError } from '../../src/banks/load-error.ts';
import { parseConfig } from '../../src/config/config.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import type { Clock } from '../../src/clock.ts';
import { createService } from '../../src/service.ts';
import { closeLater } from './close-later.ts';
import { openEmulator } from './emulate.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { patientClock } from './patient-clock.ts';
import { SANDBOX } from './sandbox.ts';
import { eventually, waitUntil } from './wait-until.ts';

// The whole service against the emulator, over real HTTP on free ports; only time is simulated.

export type Rig = Awaited<ReturnType<typeof openRig>>;

export interface LogLine {
  readonly level: number;
  readonly severity: string;
  readonly msg: string;
  readonly method?: string;
  readonly path?: string;
  readonly statusCode?: number;
  readonly bytes?: number;
  readonly ip?: string;
  readonly [member: string]: unknown;
}

export interface RigOptions {
  readonly env?: EnvironmentVariables;
  /** More variables, which depend on the emulator's addresses. */
  readonly envFor?: (emulator: Emulator) => EnvironmentVariables;
  readonly emulator?: EmulatorOptions;
  /** A running emulator, which the rig does not close. */
  readonly provider?: Emulator;
  /** Called after the emulator has started and before the service does. */
  readonly before?: (emulator: Emulator) => void | Promise<void>;
  /** A clock that several rigs share. */
  readonly clock?: ManualClock;
  /** How much later than other rigs this one starts, on both clocks. */
  readonly startedLaterByMs?: number;
  /** For the deadlines of real input and output; by default one that nothing has to wait for. */
  readonly ioClock?: Clock;
  /** How many lines the log has lost; by default none. */
  readonly lostLines?: () => number;
  /** The random numbers for jitter; by default always 0.5. */
  readonly random?: () => number;
}

const gzip = promisify<InputType, ZlibOptions, Buffer>(zlib.gzip);
const brotli = promisify<InputType, BrotliOptions, Buffer>(zlib.brotliCompress);
/** Gzip and Brotli at their quickest levels: a fifth of the tests' CPU time went into the best. */
const QUICK_COMPRESSORS: Compressors = {
  gzip: (bytes) => gzip(bytes, { level: 1 }),
  br: (bytes) => brotli(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
};

/** For more than one test, or less: whoever opens it closes it. */
export const openRig = async (options: RigOptions = {}) => {
  const clock = options.clock ?? createManualClock();
  const emulator =
    options.provider ?? (await openEmulator({ now: () => clock.wallMs(), ...options.emulator }));
  await options.before?.(emulator);
  clock.skip(options.startedLaterByMs ?? 0);
  const lines: string[] = [];
  const config = parseConfig({
    ...SANDBOX,
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    ...options.env,
    ...options.envFor?.(emulator),
  });
  const service = createService(config, {
    version: '0.0.0-test',
    logDestination: {
      write: (line: string) => void lines.push(line),
      lostLines: options.lostLines ?? (() => 0),
    },
    clock,
    ioClock: options.ioClock ?? patientClock,
    random: options.random ?? (() => 0.5),
    compressors: QUICK_COMPRESSORS,
  });
  const { publicUrl, managementUrl = '' } = await service.start();

  return {
    url: publicUrl,
    managementUrl,
    service,
    emulator,
    clock,
    /** Everything written to the log so far, as it was written. */
    log: (): string => lines.join(''),
    /** The messages of all log lines except requests. */
    messages: (): string[] =>
      lines
        .map(parseLine)
        .filter(({ msg }) => msg !== 'request')
        .map(({ msg }) => msg),
    /** The log's lines of requests, or of those for `path`. */
    requests: (path?: string): LogLine[] =>
      lines
        .map(parseLine)
        .filter((line) => line.msg === 'request' && (path === undefined || line.path === path)),
    close: async (): Promise<void> => {
      const stopped = service.stop({ noticeMs: 0 });
      // The end of the drain: clients may still wait for a list that never arrives.
      clock.advance(config.shutdownGraceMs);
      await stopped;
      if (!options.provider) await emulator.close();
    },
  };
};

/** For one test: it is closed after it. */
export const startRig = async (options?: RigOptions): Promise<Rig> => {
  const rig = await openRig(options);
  closeLater(() => rig.close());
  return rig;
};

/** The same, once its first load has ended. */
export const startLoadedRig = async (options?: RigOptions): Promise<Rig> => {
  const rig = await startRig(options);
  await plannedInMs(rig);
  return rig;
};

/** Moves time to the next load of the list, once that is planned; the load may take its time. */
export const advanceToLoad = async ({ service: { list }, clock }: Rig): Promise<void> => {
  // A timer that has just fired has its effect in a later turn.
  await setImmediate();
  await eventually(() => {
    const { nextLoadInMs } = list.status();
    if (nextLoadInMs > 0) clock.advance(Math.ceil(nextLoadInMs));
    return nextLoadInMs > 0;
  });
};

/**
 * Milliseconds until its next load, as soon as that is planned: while a replica looks at Redis, it
 * is not.
 */
export const plannedInMs = ({ service }: Rig): Promise<number> =>
  waitUntil(
    'a planned load',
    () => service.list.status().nextLoadInMs,
    (ms) => ms > 0,
  );

/** Tokens by the client-credentials grant from the emulator's endpoint. */
export const clientCredentialsEnv = ({ tokenUrl }: Emulator): EnvironmentVariables => ({
  PROVIDER_ACCESS_TOKEN: '',
  PROVIDER_TOKEN_URL: tokenUrl,
  PROVIDER_CLIENT_ID: 'emulator-client',
  PROVIDER_CLIENT_SECRET: 'emulator-secret',
});

/** Moves time to the next load of the list, and waits until that has ended. */
export const nextLoad = async ({ service: { list }, clock }: Rig): Promise<void> => {
  const last = (): string =>
    JSON.stringify([list.status().cached?.id, list.status().failing?.attempts]);
  const before = last();
  // After a refresh the next load is planned in a later turn.
  await setImmediate();
  await eventually(() => {
    const { nextLoadInMs } = list.status();
    const hasEnded = last() !== before;
    // While Redis is being asked, it is not known yet when that will be.
    if (!hasEnded) clock.advance(Math.ceil(nextLoadInMs));
    return hasEnded && nextLoadInMs > 0;
  });
};

/** Loads the list now, as an operator does. @returns the failure, if there was one */
export const refresh = async ({ service: { list } }: Rig): Promise<LoadError | undefined> => {
  const result = await list.refresh();
  return result.outcome === 'failed' ? result.error : undefined;
};

const parseLine = (line: string): LogLine => JSON.parse(line);
