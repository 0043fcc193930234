import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { inspect } from './load.ts';
import { ALL_CPUS, freePort } from './processes.ts';
import { median } from './median.ts';
import type { StartSummary } from './report.ts';
import { CHROME } from './scenarios.ts';
import { SERVICE, startService } from './service.ts';

/**
 * From starting Node to the first 200, with a saved list on disk and a provider that never answers:
 * the time on all CPUs, and the CPU time, which other work on the machine disturbs less. Of the
 * build in each of `checkouts`, in turns.
 */
export const timeStart = async (
  bench: Bench,
  checkouts: readonly string[],
): Promise<StartSummary[]> => {
  const { emulator, rounds } = bench;
  const starts: readonly Starts[] = checkouts.map((checkout) => ({
    checkout,
    elapsedMs: [],
    cpuMs: [],
    rssMb: [],
  }));
  // Round 0 writes the snapshots.
  for (let round = 0; round <= rounds; round += 1) {
    if (round === 1) await emulator.behave('hang');
    for (const [index, { checkout, elapsedMs, cpuMs, rssMb }] of starts.entries()) {
      const started = await startOnce(bench, checkout, `snapshot-${index}.json`);
      if (round === 0) continue;
      elapsedMs.push(started.elapsedMs);
      cpuMs.push(started.cpuMs);
      rssMb.push(started.rssMb);
    }
  }
  await emulator.behave('healthy');
  return starts.map(({ checkout, elapsedMs, cpuMs, rssMb }) => ({
    peer: checkout === '.' ? SERVICE : `${SERVICE} in ${checkout}`,
    medianMs: median(elapsedMs),
    minMs: Math.min(...elapsedMs),
    medianCpuMs: median(cpuMs),
    rssAtRestMb: Math.max(...rssMb),
  }));
};

interface Starts {
  readonly checkout: string;
  readonly elapsedMs: number[];
  readonly cpuMs: number[];
  readonly rssMb: number[];
}

const startOnce = async ({ emulator, directory }: Bench, checkout: string, snapshot: string) => {
  const port = await freePort();
  const env = { CACHE_SNAPSHOT_FILE: join(directory, snapshot) };
  const startedAtMs = performance.now();
  const running = await startService(emulator, port, env, ALL_CPUS, checkout);
  const url = `http://127.0.0.1:${port}/banks`;
  for (;;) {
    const response = await inspect(url, CHROME).catch(() => undefined);
    if (response?.status === 200) break;
    await wait(5);
  }
  const elapsedMs = performance.now() - startedAtMs;
  const cpuMs = running.preciseCpuUs() / 1_000;
  await wait(1_000);
  const rssMb = running.rssMb();
  await running.stop();
  return { elapsedMs, cpuMs, rssMb };
};
