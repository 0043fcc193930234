import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { DEFAULT_ACCESS_TOKEN, type Emulator } from '../../emulator/emulator.ts';
import { imageOptions } from '../../test/helpers/image.ts';
import { inspect } from './load.ts';
import { start, type Running } from './processes.ts';
import { CHROME } from './scenarios.ts';

// The service itself, built by npm run bench, with the emulator as its provider.

export const SERVICE = 'banks-bff';
export const SERVICE_WITHOUT_HOT_PATH = `${SERVICE}, HOT_PATH=off`;

const serviceEnv = (emulator: Emulator, port: number): Record<string, string> => ({
  PORT: String(port),
  HOST: '127.0.0.1',
  MANAGEMENT_PORT: 'off',
  PROVIDER_ENVIRONMENT: 'sandbox',
  PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
  PROVIDER_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
  PROVIDER_MAX_BODY: '100mb',
  PROVIDER_TIMEOUT: '60s',
  BANK_FIELDS: 'code,ispb,name,fullName',
  // As behind a load balancer; the other scenarios' requests have no X-Forwarded-For.
  TRUST_PROXY: '1',
  NODE_ENV: 'production',
});

/** By checkout. Asked for once: Node is started to try each of them. */
const optionsOf = new Map<string, readonly string[]>();

/** Starts the build in the checkout `directory`, this one unless given. */
export const startService = (
  emulator: Emulator,
  port: number,
  env: Record<string, string> = {},
  cpuList?: string,
  directory = '.',
): Promise<Running> => {
  const options = optionsOf.get(directory) ?? imageOptions(directory);
  optionsOf.set(directory, options);
  return start(
    [[process.execPath, ...options, join(directory, 'dist/src/main.js')]],
    { ...serviceEnv(emulator, port), ...env },
    cpuList,
  );
};

/** Waits until `url` answers with 200. */
export const waitUntilReady = async (url: string, tries = 400): Promise<void> => {
  for (let left = tries; left > 0; left -= 1) {
    const status = await inspect(url, CHROME).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
    await wait(50);
  }
  throw new Error(`${url} never answered with 200`);
};
