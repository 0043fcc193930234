import { setTimeout as wait } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { measure, type Sample } from './load.ts';
import { freePort } from './processes.ts';
import { median } from './report.ts';
import { check, SCENARIOS, warmUp } from './scenarios.ts';
import { SERVICE, startService, waitUntilReady } from './service.ts';

/** The cost of longer lists. */
export const compareSizes = async (
  { emulator, banks }: Bench,
  sizes: readonly number[],
): Promise<object[]> => {
  const rows: object[] = [];
  for (const size of sizes) {
    emulator.setBanks(
      Array.from({ length: size }, (__, index) => renamed(banks[index % banks.length], index)),
    );
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/banks`;
    const running = await startService(emulator, port);
    await waitUntilReady(url);
    await wait(2_000);
    const rssAtRestMb = running.rssMb();
    const { browser, identity } = await check(SERVICE, url);
    await warmUp(running, url, 2);
    const costs: Record<string, number> = {};
    let rssAtLoadMb = 0;
    for (const { name, headers, differs } of SCENARIOS) {
      const samples: Sample[] = [];
      for (let attempt = 0; attempt < 3; attempt += 1)
        samples.push(await measure(running, { url, headers: headers(browser.etag), differs, seconds: 1 }));
      costs[name] = median(samples.map(({ cpuUs }) => cpuUs));
      rssAtLoadMb = Math.max(rssAtLoadMb, ...samples.map(({ peakRssMb }) => peakRssMb));
    }
    await running.stop();
    rows.push({
      banks: size,
      identityBytes: identity.body.length,
      compressedBytes: browser.body.length,
      ...Object.fromEntries(
        Object.entries(costs).map(([name, us]) => [`µs ${name}`, Math.round(us * 10) / 10]),
      ),
      rssAtRestMb: Math.round(rssAtRestMb),
      rssAtLoadMb: Math.round(rssAtLoadMb),
    });
  }
  return rows;
};

/** A bank with a code of its own. */
export const renamed = (bank: unknown, index: number): unknown =>
  typeof bank === 'object' ? { ...bank, code: String(index).padStart(5, '0') } : bank;
