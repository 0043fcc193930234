import type { Bench } from './bench.ts';
import { measure, type Sample } from './load.ts';
import type { Result } from './report.ts';
import { BEHIND_LOAD_BALANCER, SCENARIOS, warmUp } from './scenarios.ts';
import { PROGRAMS, takeTurns } from './turns.ts';

/** Every program in every scenario. */
export const comparePeers = async (bench: Bench): Promise<Result[]> => {
  const results = new Map<string, { wireBytes: number; samples: Sample[] }>();
  await takeTurns(bench, PROGRAMS, async (peer, running, url, { browser, wireBytes }) => {
    const scenarios = peer.isNode ? SCENARIOS : [BEHIND_LOAD_BALANCER];
    await warmUp(running, url, peer.warmUpSeconds, scenarios);
    for (const [index, { name, headers, differs }] of SCENARIOS.entries()) {
      const load = { url, headers: headers(browser.etag), differs, seconds: bench.seconds };
      const sample = await measure(running, load);
      const key = `${peer.name}|${name}`;
      const result = results.get(key) ?? { wireBytes: wireBytes[index] ?? 0, samples: [] };
      result.samples.push(sample);
      results.set(key, result);
    }
  });
  return SCENARIOS.flatMap(({ name: scenario }) =>
    PROGRAMS.flatMap(({ name: peer }) => {
      const found = results.get(`${peer}|${scenario}`);
      return found ? [{ peer, scenario, ...found }] : [];
    }),
  );
};
