import { DEFAULT_ACCESS_TOKEN, startEmulator } from './emulator.ts';
import type { Emulator } from './emulator.ts';

// Runs the emulator as a program, configured by EMULATOR_* variables. It refuses to start in a
// production environment, where it could only be mistaken for the provider. SIGINT and SIGTERM stop
// it at once, with exit status 0.

// Only this program reads the environment; startEmulator() takes options.
// oxlint-disable-next-line node/no-process-env
const env = process.env;

function setting(name: string, fallback: string): string {
  return env[name]?.trim() || fallback;
}

function portSetting(name: string, fallback: number): number {
  const text = setting(name, String(fallback));
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535))
    throw new RangeError(`${name} must be a port from 0 to 65535, not "${text}"`);
  return port;
}

function start(): Promise<Emulator> {
  if (setting('PROVIDER_ENVIRONMENT', '').toLowerCase() === 'production') {
    throw new Error(
      'PROVIDER_ENVIRONMENT is production; the emulator is for development and tests only',
    );
  }
  return startEmulator({
    host: setting('EMULATOR_HOST', '127.0.0.1'),
    port: portSetting('EMULATOR_PORT', 4000),
    controlPort: portSetting('EMULATOR_CONTROL_PORT', 4001),
    accessTokens: [setting('EMULATOR_ACCESS_TOKEN', DEFAULT_ACCESS_TOKEN)],
    clientId: setting('EMULATOR_CLIENT_ID', 'emulator-client'),
    clientSecret: setting('EMULATOR_CLIENT_SECRET', 'emulator-secret'),
  });
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE' && 'port' in error) {
    return `port ${String(error.port)} is in use; set EMULATOR_PORT or EMULATOR_CONTROL_PORT to another one`;
  }
  return error.message;
}

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
