import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { endUnderLoad } from '../kit/drain-under-load.ts';
import { startProcess } from '../kit/process.ts';

// The shutdown under load, often enough to meet a rare race.

const ROUNDS = 20;

let provider: Emulator;
beforeEach(async () => void (provider = await startEmulator()));
afterEach(() => provider.close());

test(`${ROUNDS} times SIGTERM under 200 keep-alive clients, and no request fails`, async () => {
  let allAnswered = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const service = await startProcess({
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
      PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
      SHUTDOWN_GRACE: '6s',
    });
    await fetch(`${service.urls()[0]}/banks`);
    const { answered, failures, status } = await endUnderLoad(service);
    expect({ round, failures: failures.slice(0, 3), status }).toEqual({ round, failures: [], status: 0 });
    expect(answered).toBeGreaterThan(200);
    allAnswered += answered;
  }
  process.stdout.write(`${allAnswered} requests answered, none failed\n`);
});
