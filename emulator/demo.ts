import { startBankPicker } from '../examples/bank-picker/server.ts';
import { parseConfig } from '../src/config/config.ts';
import { createService } from '../src/service.ts';
import { DEFAULT_ACCESS_TOKEN, startEmulator } from './emulator.ts';

// The emulator and the service together, without any configuration: what a newcomer starts first. Ctrl-C stops both.

// oxlint-disable-next-line node/no-process-env -- a program of its own; only what a busy machine may need to change
const { PORT = '3000', LOG_LEVEL = 'warn' } = process.env;

const emulator = await startEmulator();
// The page must exist before the service, whose configuration names the page's origin; it asks for the address later.
let banksUrl = '';
const picker = await startBankPicker({ banksUrl: () => banksUrl });
const config = parseConfig({
  PORT,
  MANAGEMENT_PORT: '0',
  LOG_LEVEL,
  CORS_ORIGINS: new URL(picker.url).origin,
  HOST: '127.0.0.1',
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
  PROVIDER_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
  BANK_FIELDS: 'code,ispb,name',
});
const service = createService(config, { version: 'demo', logDestination: process.stdout });

const stop = async (): Promise<void> => {
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.removeAllListeners(signal).on(signal, () => process.exit(1));
  await service.stop({ noticeMs: 0 });
  await Promise.all([picker.close(), emulator.close()]);
  process.exit(0);
};
process.once('SIGINT', () => void stop());
process.once('SIGTERM', () => void stop());

try {
  const { publicUrl } = await service.start();
  banksUrl = `${publicUrl}/banks`;
  process.stdout.write(`
  The service     ${publicUrl}/banks
  Its health      ${publicUrl}/healthz
  A bank picker   ${picker.url}  (a page on another origin that uses it)
  The emulator    ${emulator.baseUrl}  (stands in for the provider)

  Try             curl ${publicUrl}/banks
  Take the        curl -X PUT ${emulator.controlUrl}/behaviour/unavailable
  provider down   and ask for /banks again; ${emulator.controlUrl} lists what else it can do

  Ctrl-C stops both.

`);
} catch (error) {
  const taken = typeof error === 'object' && error !== null && 'code' in error && error.code === 'EADDRINUSE';
  process.stderr.write(
    taken ? `Port ${PORT} is in use; try: PORT=3100 npm run demo\n` : `${String(error)}\n`,
  );
  process.exit(1);
}
