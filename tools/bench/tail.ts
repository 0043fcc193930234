import type { Bench } from './bench.ts';
import { measure, type Load, type Sample } from './load.ts';
import { NGINX } from './peers.ts';
import { RATES, type TailResult, type TailSample } from './report.ts';
import { BEHIND_LOAD_BALANCER } from './scenarios.ts';
import { PROGRAMS, takeTurns } from './turns.ts';

// Latency at a constant rate: at full load, each request waits for those of the other connections,
// so that the slowest responses show the queue and not the program.

const SAMPLES = 3;
const MOST_TRIES = 5;
const MOST_STOLEN = 0.005;

const NODE_WARM_UP_SECONDS = 6;
const NODE_WARM_UP_RUNS = 4;
const NODE_WARM_UP_RATE = 10_000;

export const measureTail = async (bench: Bench): Promise<TailResult[]> => {
  // nginx first: half of its full load is a rate for the others too.
  const programs = PROGRAMS.filter(({ hasTail }) => hasTail).toSorted(
    (a, b) => Number(b.name === NGINX) - Number(a.name === NGINX),
  );
  const results = new Map<
    string,
    { peer: string; rate: TailResult['rate']; samples: TailSample[] }
  >();
  let nginxRate: number | undefined;
  await takeTurns(bench, programs, async (peer, running, url, { browser }) => {
    const { headers, differs } = BEHIND_LOAD_BALANCER;
    const load: Load = { url, headers: headers(browser.etag), differs, seconds: bench.seconds };
    await measure(running, {
      ...load,
      seconds: peer.isNode ? NODE_WARM_UP_SECONDS : peer.warmUpSeconds,
    });
    // Each run opens and closes its connections: that code, too, has to be compiled.
    for (let run = 0; peer.isNode && run < NODE_WARM_UP_RUNS; run += 1)
      await measure(running, { ...load, rate: NODE_WARM_UP_RATE, seconds: 2 });
    const { requestsPerSecond: fullLoadPerSecond } = await measure(running, load);
    const own = Math.round(fullLoadPerSecond / 2);
    if (peer.name === NGINX) nginxRate = own;
    for (const [rate, ratePerSecond] of [
      [RATES.own, own],
      [RATES.nginx, nginxRate],
    ] as const) {
      if (ratePerSecond === undefined) continue;
      const key = `${peer.name}|${rate}`;
      const result = results.get(key) ?? { peer: peer.name, rate, samples: [] };
      results.set(key, result);
      for (let count = 0; count < SAMPLES; count += 1) {
        const sample = await undisturbed(() =>
          measure(running, { ...load, rate: ratePerSecond, seconds: bench.seconds + 1 }),
        );
        result.samples.push({ ...sample, fullLoadPerSecond, ratePerSecond });
      }
    }
  });
  return [...results.values()];
};

/**
 * A virtual machine that stands still for 20 ms decides a p99, whatever program it runs: the sample
 * is taken again.
 */
const undisturbed = async (take: () => Promise<Sample>): Promise<Sample> => {
  let best = await take();
  for (let tries = 1; tries < MOST_TRIES && best.stolen > MOST_STOLEN; tries += 1) {
    const next = await take();
    if (next.stolen < best.stolen) best = next;
  }
  return best;
};
