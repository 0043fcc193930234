import { Agent as HttpAgent, get } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { brotliCompressSync } from 'node:zlib';
import { afterEach, expect, test } from '@jest/globals';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// What many simultaneous clients must not cause. No absolute time is asserted, because the machine is shared.

let rig: Rig;
afterEach(() => rig.close());

/** One response on one of the agent's connections; its content is discarded. */
const ask = (agent: HttpAgent): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(`${rig.url}/banks`, { agent, headers: { 'Accept-Encoding': 'br' } }, (res) => {
      res
        .resume()
        .on('end', () => resolve(res.statusCode))
        .on('error', reject);
    }).on('error', reject);
  });

test('10,000 simultaneous requests over 200 connections at a cold start cause one upstream call', async () => {
  rig = await startRig({ before: (emulator) => emulator.behave('slow', { delayMs: 500 }) });
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 200 });
  const statuses = await Promise.all(Array.from({ length: 10_000 }, () => ask(agent)));
  agent.destroy();
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(rig.emulator.listCalls()).toBe(1);
}, 30_000);

test('renewals under load, each with a new list, do not block the event loop', async () => {
  rig = await startRig({ emulator: { validators: false }, env: { GUARD_MAX_SHRINK: '100%' } });
  await eventually(() => rig.service.list.served() !== undefined);
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 16 });
  // Large enough that encoding it takes more than half a second, which would stand out if it were done on the event loop.
  const banks = Array.from({ length: 4_000 }, (_, index) => ({
    code: String(index),
    ispb: String((index * 7_919) % 100_000_000).padStart(8, '0'),
    name: `Bank ${Math.sin(index)}`,
  }));

  const longestDelayMs = async (renewals: number): Promise<number> => {
    const load = new AbortController();
    const clients = Array.from({ length: 16 }, async () => {
      while (!load.signal.aborted) await ask(agent);
    });
    const delays = monitorEventLoopDelay({ resolution: 2 });
    delays.enable();
    for (let renewal = 0; renewal < renewals; renewal += 1) {
      rig.emulator.setBanks([...banks, { code: 'x', ispb: 'y', name: `Renewal ${renewal}` }]);
      expect(await rig.service.list.refresh(['shrunk'])).toBeUndefined();
    }
    if (renewals === 0) for (let count = 0; count < 300; count += 1) await ask(agent);
    delays.disable();
    load.abort();
    await Promise.all(clients);
    return delays.max / 1e6;
  };
  await longestDelayMs(1);
  const without = await longestDelayMs(0);
  const renewing = await longestDelayMs(3);
  // The emulator and its clients share this event loop; an encoding on it would add what it takes there, measured now
  // because a busy machine makes all of it slower.
  const startedAtMs = performance.now();
  brotliCompressSync(JSON.stringify(banks));
  expect(renewing).toBeLessThan(without + (performance.now() - startedAtMs));
}, 30_000);
