import type { Bench } from './bench.ts';
import { measure } from './load.ts';
import { ALL_CPUS, freePort } from './processes.ts';
import { median } from './report.ts';
import { CHROME, warmUp } from './scenarios.ts';
import { startService, waitUntilReady } from './service.ts';
import { renamed } from './sizes.ts';

/**
 * The effect of list changes on requests: measures without changes and with one every second, in turn. The service may
 * use all CPUs, as in production, because encoding runs on threads of its own. They also compete with wrk for its CPU,
 * so the p99 includes wrk's own delays; the event loop's delay does not.
 */
export const compareRenewal = async ({ emulator, banks, rounds, seconds }: Bench): Promise<object> => {
  const measured = { none: [] as RenewalSample[], everySecond: [] as RenewalSample[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, ttl] of [
      ['none', '1h'],
      ['everySecond', '1s'],
    ] as const) {
      const [port, managementPort] = [await freePort(), await freePort()];
      const url = `http://127.0.0.1:${port}/banks`;
      const env = {
        CACHE_TTL: ttl,
        GUARD_MAX_SHRINK: '100%',
        MANAGEMENT_PORT: String(managementPort),
        MANAGEMENT_HOST: '127.0.0.1',
      };
      let version = 0;
      const timer = setInterval(
        () => emulator.setBanks(banks.map((bank) => renamed(bank, (version += 1)))),
        300,
      );
      const running = await startService(emulator, port, env, ALL_CPUS);
      await waitUntilReady(url);
      await warmUp(running, url, 2);
      // Each scrape resets the histogram.
      await loopDelayP99Ms(managementPort);
      const { p99Ms } = await measure(running, { url, headers: CHROME, differs: true, seconds: seconds + 2 });
      measured[name].push({ p99Ms, loopDelayP99Ms: await loopDelayP99Ms(managementPort) });
      clearInterval(timer);
      await running.stop();
    }
  }
  const increaseOf = (figure: keyof RenewalSample): number => {
    const of = (samples: readonly RenewalSample[]): number => median(samples.map((sample) => sample[figure]));
    return of(measured.everySecond) - of(measured.none);
  };
  return {
    p99MovedByMs: increaseOf('p99Ms'),
    loopDelayP99MovedByMs: increaseOf('loopDelayP99Ms'),
    measured,
  };
};

interface RenewalSample {
  readonly p99Ms: number;
  readonly loopDelayP99Ms: number;
}

const loopDelayP99Ms = async (managementPort: number): Promise<number> => {
  const metrics = await (await fetch(`http://127.0.0.1:${managementPort}/metrics`)).text();
  return Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(metrics)?.[1]) * 1_000;
};
