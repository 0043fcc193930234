import { DEFAULT_ACCESS_TOKEN, startEmulator } from './emulator.ts';
import type { Emulator } from './emulator.ts';

// Runs the emulator as a program, configured by EMULATOR_* variables. It refuses to start where the product
// runs in production: an emulator there could only be taken for the provider. SIGINT and SIGTERM end it at once.

// This file is the emulator's only reader of the environment; everything else is told by its options.
// oxlint-disable-next-line node/no-process-env
const env = process.env;

function setting(name: string, fallback: string): string {
  return env[name]?.trim() || fallback;
}

function portSetting(name: string, fallback: number): number {
  const text = setting(name, String(fallback));
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new RangeError(`${name} must be a port from 0 to 65535, not "${text}"`);
  return port;
}

function start(): Promise<Emulator> {
  if (setting('PROVIDER_ENVIRONMENT', '').toLowerCase() === 'production') {
    throw new Error('PROVIDER_ENVIRONMENT is production, where the emulator has no place');
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

try {
  const emulator = await start();
  const stop = (): void => {
    void emulator.close().finally(() => process.exit(0));
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  process.stdout.write(
    [
      `emulator of the provider   ${emulator.baseUrl}/api/v1/banks`,
      `its token endpoint         ${emulator.tokenUrl}`,
      `its control                ${emulator.controlUrl}/`,
      `change its behaviour       curl -X PUT '${emulator.controlUrl}/behaviour/unavailable?retryAfter=30'`,
      `make it healthy again      curl -X PUT ${emulator.controlUrl}/behaviour/healthy`,
      '',
    ].join('\n'),
  );
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`emulator: not started: ${message}\n`);
  process.exitCode = 1;
}
