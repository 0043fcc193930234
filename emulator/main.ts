import { startEmulator } from './emulator.ts';

// Runs the emulator as a program, configured by EMULATOR_* variables. It refuses to start in a
// production environment, where it could only be mistaken for the provider. SIGINT and SIGTERM stop
// it at once, with exit status 0.

// oxlint-disable-next-line node/no-process-env -- a program of its own
const { env } = process;

async function run(): Promise<void> {
  if (env['PROVIDER_ENVIRONMENT'] === 'production') {
    throw new Error(
      'PROVIDER_ENVIRONMENT is production; the emulator is for development and tests only',
    );
  }
  const emulator = await startEmulator({
    host: env['EMULATOR_HOST'] || '127.0.0.1',
    port: Number(env['EMULATOR_PORT'] || 4000),
    controlPort: Number(env['EMULATOR_CONTROL_PORT'] || 4001),
  });
  const stop = (): void => void emulator.close().finally(() => process.exit(0));
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
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE' && 'port' in error) {
    return `port ${String(error.port)} is in use; set EMULATOR_PORT or EMULATOR_CONTROL_PORT to another one`;
  }
  return error.message;
}

try {
  await run();
} catch (error) {
  process.stderr.write(`The emulator cannot start: ${explain(error)}\n`);
  process.exitCode = 1;
}
