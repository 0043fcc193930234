import { prettyFactory } from 'pino-pretty';
import { startDemoPage } from '../examples/demo-page/server.ts';
import { parseConfig, type Config } from '../src/config/config.ts';
import { explainListenError } from '../src/doctor/ports.ts';
import { createService } from '../src/service.ts';
import { readVersion } from '../src/version.ts';
import { DEFAULT_ACCESS_TOKEN, startEmulator, type Call } from './emulator.ts';

// The service, the emulator and the bank picker in one process, without credentials or
// configuration. A newcomer starts this first. It prints where everything is and how to break it.
// Ctrl-C stops all of it.

const HOST = '127.0.0.1';
const CONTROL_PORT = 4001;
/** The same at each start, so that an open page goes on working. */
const PICKER_PORT = 4002;

/**
 * Where Vite shows a page while it is written, and after it was built: the examples run as they
 * are.
 */
const VITE_ORIGINS = 'http://localhost:5173,http://localhost:4173';

/**
 * The demo reads five variables. It ignores PROVIDER_*: real credentials must not be sent to the
 * emulator.
 */
// oxlint-disable-next-line node/no-process-env -- a program of its own
const { env } = process;
const CACHE_TTL = env['CACHE_TTL'] || '15s';

const run = async (): Promise<void> => {
  const write = (text: string): void => void process.stdout.write(text);
  const onCallEnd = ({ method, path, status }: Call): void => {
    const time = new Date().toISOString().slice(11, 19);
    write(`${time}  emulator: ${method} ${path} -> ${status ?? 'no response'}\n`);
  };
  // Where a documented port is in use, another one is printed.
  const emulator = await startEmulator({ controlPort: CONTROL_PORT, onCallEnd }).catch(() =>
    startEmulator({ onCallEnd }),
  );
  // The configuration needs the page's origin, and the page needs the address of the service, which
  // starts last.
  let banksUrl = '';
  const picker = await startDemoPage(() => banksUrl, PICKER_PORT).catch(() =>
    startDemoPage(() => banksUrl),
  );
  const config = parseConfig({
    HOST,
    PORT: env['PORT'],
    MANAGEMENT_PORT: env['MANAGEMENT_PORT'],
    LOG_LEVEL: env['LOG_LEVEL'],
    CACHE_TTL,
    CORS_ORIGINS: [picker.url, VITE_ORIGINS, env['CORS_ORIGINS']].filter(Boolean).join(','),
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
    PROVIDER_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
    BANK_FIELDS: 'code,ispb,name',
  });
  const toText = prettyFactory({
    colorize: process.stdout.isTTY,
    singleLine: true,
    translateTime: 'HH:MM:ss',
    ignore: 'severity',
  });
  // By default only changes of state are shown; with LOG_LEVEL set, everything at that level.
  const isShown = (line: string): boolean => env['LOG_LEVEL'] !== undefined || !isRoutine(line);
  const service = createService(config, {
    version: readVersion(),
    logDestination: { write: (line) => void (isShown(line) && write(toText(line))) },
  });

  const { publicUrl, managementUrl } = await service.start().catch((error: Error) => {
    throw new Error(explainListenError(error, config) ?? error.stack);
  });

  let isStopping = false;
  const stop = async (): Promise<void> => {
    // A second signal ends the process at once.
    if (isStopping) process.exit(1);
    isStopping = true;
    await service.stop({ noticeMs: 0 });
    await Promise.all([picker.close(), emulator.close()]);
    write('Everything has stopped.\n');
    process.exit(0);
  };
  process.on('SIGINT', () => void stop()).on('SIGTERM', () => void stop());

  banksUrl = `${publicUrl}/banks`;
  const urls = { publicUrl, managementUrl, pickerUrl: picker.url, controlUrl: emulator.controlUrl };
  write(guide(urls, config));
};

/** Whether a log line reports an ordinary request or the start, which the guide describes. */
const isRoutine = (line: string): boolean =>
  line.startsWith('{"level":30') && /"msg":"(?:request|listening)"/.test(line);

interface Urls {
  readonly publicUrl: string;
  readonly managementUrl: string | undefined;
  readonly pickerUrl: string;
  readonly controlUrl: string;
}

/** The text printed at start. Lines indented by four spaces can be pasted into a shell. */
const guide = (
  { publicUrl, managementUrl, pickerUrl, controlUrl }: Urls,
  { cache }: Config,
): string => {
  const retryWithin = cache.ttlMs > 60_000 ? '1m' : CACHE_TTL;
  const management =
    managementUrl === undefined
      ? '  Status page   off (MANAGEMENT_PORT)'
      : `  Status page   ${managementUrl}/\n  Metrics       ${managementUrl}/metrics`;
  return `
The service runs, with an emulator in place of the provider.

  Bank list     ${publicUrl}/banks
  Bank picker   ${pickerUrl}
${management}

Ask for the list, in another terminal:

    curl -s ${publicUrl}/banks | head -c 300

Break it: the provider answers every call with 503.

    curl -X PUT ${controlUrl}/behaviour/unavailable

Within ${CACHE_TTL} (CACHE_TTL) the status page turns amber and this says "warn":

    curl -s ${publicUrl}/healthz

The bank list and the bank picker still work: users get the cached list. Repair it:

    curl -X PUT ${controlUrl}/behaviour/healthy

Within ${retryWithin} everything is green again. ${controlUrl} lists more ways to break it.
Below you see the calls that the emulator gets and what the service logs. Ctrl-C stops everything.

`;
};

try {
  await run();
} catch (error) {
  const why = error instanceof Error ? error.message : String(error);
  process.stderr.write(`The demo cannot start. ${why}\n`);
  process.exit(1);
}
