import { DEFAULT_ACCESS_TOKEN, startEmulator } from './emulator.ts';
import type { Emulator } from './emulator.ts';

// Runs the emulator as a program, configured by EMULATOR_* variables. It refuses to start in a
// production environment, where it could only be mistaken for the provider. SIGINT and SIGTERM stop
// it at once, with exit status 0. An argument that it does not know ends it with exit status 2.

// Only this program reads the environment; startEmulator() takes options.
// oxlint-disable-next-line node/no-process-env
const env = process.env;

/** The variables, each with its default. */
const DEFAULTS = {
  EMULATOR_HOST: '127.0.0.1',
  EMULATOR_PORT: '4000',
  EMULATOR_CONTROL_PORT: '4001',
  EMULATOR_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
  EMULATOR_CLIENT_ID: 'emulator-client',
  EMULATOR_CLIENT_SECRET: 'emulator-secret',
} as const;

type Setting = keyof typeof DEFAULTS;

const USAGE = `Emulates the provider, for development and tests without credentials.

Usage: npm run emulator

Options:
  -h, --help  print this text

Settings are environment variables; a port of 0 picks a free one:
${Object.entries(DEFAULTS)
  .map(([name, preset]) => `  ${name.padEnd(24)}${preset}`)
  .join('\n')}

Exit status: 0 once it has been stopped; 1 if it cannot start; 2 an unknown argument.
`;

function setting(name: Setting): string {
  return env[name]?.trim() || DEFAULTS[name];
}

function portSetting(name: Setting): number {
  const text = setting(name);
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535))
    throw new RangeError(`${name} must be a port from 0 to 65535, not "${text}"`);
  return port;
}

function start(): Promise<Emulator> {
  if (env['PROVIDER_ENVIRONMENT']?.trim().toLowerCase() === 'production') {
    throw new Error(
      'PROVIDER_ENVIRONMENT is production; the emulator is for development and tests only',
    );
  }
  return startEmulator({
    host: setting('EMULATOR_HOST'),
    port: portSetting('EMULATOR_PORT'),
    controlPort: portSetting('EMULATOR_CONTROL_PORT'),
    accessTokens: [setting('EMULATOR_ACCESS_TOKEN')],
    clientId: setting('EMULATOR_CLIENT_ID'),
    clientSecret: setting('EMULATOR_CLIENT_SECRET'),
  });
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE' && 'port' in error) {
    return `port ${String(error.port)} is in use; set EMULATOR_PORT or EMULATOR_CONTROL_PORT to another one`;
  }
  return error.message;
}

async function run(): Promise<void> {
  try {
    const emulator = await start();
    const stop = (): void => {
      void emulator.close().finally(() => process.exit(0));
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);
    process.stdout.write(
      [
        `Emulator of the provider   ${emulator.baseUrl}/api/v1/banks`,
        `Token endpoint             ${emulator.tokenUrl}`,
        `Control API                ${emulator.controlUrl}/`,
        `Make the provider fail     curl -X PUT '${emulator.controlUrl}/behaviour/unavailable?retryAfter=30'`,
        `Make it healthy again      curl -X PUT ${emulator.controlUrl}/behaviour/healthy`,
        '',
      ].join('\n'),
    );
  } catch (error) {
    process.stderr.write(`The emulator cannot start: ${explain(error)}\n`);
    process.exitCode = 1;
  }
}

const HELP: readonly string[] = ['-h', '--help'];
const args = process.argv.slice(2);
const unknown = args.find((arg) => !HELP.includes(arg));
if (unknown !== undefined) {
  // Without what follows the =, which may be a secret.
  const name = JSON.stringify(unknown.split('=', 1)[0]?.slice(0, 40));
  process.stderr.write(`Unknown argument ${name}. Allowed: --help.\n`);
  process.exitCode = 2;
} else if (args.length > 0) {
  process.stdout.write(USAGE);
} else {
  await run();
}
