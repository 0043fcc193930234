import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { inspect } from './load.ts';
import { ALL_CPUS, freePort } from './processes.ts';
import { median } from './report.ts';
import { CHROME } from './scenarios.ts';
import { startService } from './service.ts';

/** Time from starting Node to the first 200, on all CPUs, with a saved list on disk and a provider that never answers. */
export const timeStart = async ({ emulator, directory, rounds }: Bench): Promise<object> => {
  const env = { CACHE_SNAPSHOT_FILE: join(directory, 'snapshot.json') };
  const startedMs: number[] = [];
  const rss: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const port = await freePort();
    // Round 0 writes the snapshot.
    if (round > 0) await emulator.behave('hang');
    const startedAtMs = performance.now();
    const running = await startService(emulator, port, env, ALL_CPUS);
    const url = `http://127.0.0.1:${port}/banks`;
    for (;;) {
      const response = await inspect(url, CHROME).catch(() => undefined);
      if (response?.status === 200) break;
      await wait(5);
    }
    if (round > 0) startedMs.push(performance.now() - startedAtMs);
    await wait(1_000);
    rss.push(running.rssMb());
    await running.stop();
  }
  await emulator.behave('healthy');
  return { medianMs: median(startedMs), minMs: Math.min(...startedMs), rssAtRestMb: Math.max(...rss) };
};
