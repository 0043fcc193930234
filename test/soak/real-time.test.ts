import { afterEach, expect, test } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { AT_ONCE, AT_THE_DEADLINE } from '../kit/failure-table.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { eventually } from '../kit/rig.ts';

// The built service in real time: how long the first answer takes while the provider fails, and how soon the service recovers.

/** Long enough to unpack a bomb on a busy machine. */
const TIMEOUT_MS = 3_000;
/** For the exchange, two processes and a busy machine. */
const MARGIN_MS = 500;

const providers: Emulator[] = [];
const services: ServiceProcess[] = [];
afterEach(async () => {
  for (const { child } of services.splice(0)) child.kill('SIGKILL');
  await Promise.all(providers.splice(0).map((provider) => provider.close()));
});

const startProvider = async (): Promise<Emulator> => {
  const provider = await startEmulator();
  providers.push(provider);
  return provider;
};

/** Resolves with what `GET /banks` answers. */
const startService = async (provider: Emulator, env: Environment) => {
  const service = await startProcess({
    MANAGEMENT_PORT: 'off',
    PROVIDER_ENVIRONMENT: 'sandbox',
    PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
    PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
    BANK_FIELDS: 'code,ispb,name',
    ...env,
  });
  services.push(service);
  return async () => {
    const startedAtMs = performance.now();
    const response = await fetch(`${service.urls()[0]}/banks`);
    const text = await response.text();
    return {
      status: response.status,
      text,
      retryAfterMs: Number(response.headers.get('retry-after')) * 1_000,
      isFresh: response.ok && !response.headers.get('cache-status')?.includes('detail='),
      tookMs: performance.now() - startedAtMs,
    };
  };
};

test.each([...AT_ONCE, ...AT_THE_DEADLINE])(
  'with %s and no list, the first answer is %d within PROVIDER_TIMEOUT, and the next at once',
  async (behaviour, status, code) => {
    const provider = await startProvider();
    await provider.behave(behaviour);
    const getBanks = await startService(provider, { PROVIDER_TIMEOUT: `${TIMEOUT_MS}ms` });
    const first = await getBanks();
    // The next load is at least a second away.
    const second = await getBanks();
    process.stdout.write(`${behaviour}: ${first.status} after ${first.tookMs.toFixed(0)} ms, `);
    process.stdout.write(`then after ${second.tookMs.toFixed(0)} ms\n`);
    for (const answer of [first, second]) {
      expect({ status: answer.status, code: JSON.parse(answer.text).code }).toEqual({ status, code });
      expect(answer.retryAfterMs).toBeGreaterThan(0);
    }
    expect(first.tookMs).toBeLessThan(TIMEOUT_MS + MARGIN_MS);
    expect(second.tookMs).toBeLessThan(MARGIN_MS);
  },
  20_000,
);

/** The longest wait after so many failures: it doubles from 1.5 s to the smaller of `CACHE_TTL` and 1 min. */
const stepMs = (failures: number, ttlMs: number): number =>
  Math.min(1_500 * 2 ** (failures - 1), ttlMs, 60_000);

test('the list is fresh one back-off step after the provider is back', async () => {
  const recover = async (hasList: boolean, failures: number): Promise<string> => {
    const ttlMs = hasList ? 4_000 : 3_600_000;
    const provider = await startProvider();
    if (!hasList) await provider.behave('unavailable');
    const getBanks = await startService(provider, { CACHE_TTL: `${ttlMs}ms` });
    if (hasList) while (!(await getBanks()).isFresh);
    await provider.behave('unavailable');
    const calls = Number(hasList) + failures;
    await eventually(() => provider.listCalls() === calls);
    // The failure itself has to arrive.
    await setTimeout(100);
    const { retryAfterMs } = await getBanks();
    await provider.behave('healthy');
    const backAtMs = performance.now();
    const statuses = new Set<number>();
    for (let answer = await getBanks(); !answer.isFresh; answer = await getBanks()) {
      statuses.add(answer.status);
      await setTimeout(20);
    }
    const recoveredMs = performance.now() - backAtMs;
    // Clients that wait as long as Retry-After says must get the list.
    const limitMs = Math.min(stepMs(failures, ttlMs), hasList ? Infinity : retryAfterMs);
    expect(recoveredMs).toBeLessThan(limitMs + MARGIN_MS);
    // The list came with the first load after the provider was back.
    expect(provider.listCalls()).toBe(calls + 1);
    expect([...statuses]).toEqual([hasList ? 200 : 503]);
    return `${hasList ? 'with' : 'without'} a list, ${failures} failed loads: fresh after ${recoveredMs.toFixed(0)} ms\n`;
  };
  const outages = [1, 2, 3, 4].flatMap((failures) => [recover(true, failures), recover(false, failures)]);
  process.stdout.write((await Promise.all(outages)).join(''));
}, 60_000);
