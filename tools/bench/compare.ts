import type { Bench } from './bench.ts';
import { measure, type Sample } from './load.ts';
import type { Result } from './report.ts';
import { BEHIND_LOAD_BALANCER, SCENARIOS, warmUp, type Scenario } from './scenarios.ts';
import type { Peer } from './peers.ts';
import { takeTurns } from './turns.ts';

/** Each of `programs` in each of `scenarios`. */
export const comparePeers = async (
  bench: Bench,
  scenarios: readonly Scenario[],
  programs: readonly Peer[],
): Promise<Result[]> => {
  const results = new Map<string, { wireBytes: number; samples: Sample[] }>();
  await takeTurns(bench, programs, async (peer, running, url, { browser, wireBytes }) => {
    // As long in all as for all scenarios: fewer requests would leave Node's compilers unfinished.
    const secondsEach = (peer.warmUpSeconds * SCENARIOS.length) / scenarios.length;
    if (peer.isNode) await warmUp(running, url, secondsEach, scenarios);
    else await warmUp(running, url, peer.warmUpSeconds, [BEHIND_LOAD_BALANCER]);
    for (const [index, { name, headers, differs }] of scenarios.entries()) {
      const load = { url, headers: headers(browser.etag), differs, seconds: bench.seconds };
      const sample = await measure(running, load);
      const key = `${peer.name}|${name}`;
      const result = results.get(key) ?? { wireBytes: wireBytes[index] ?? 0, samples: [] };
      result.samples.push(sample);
      results.set(key, result);
    }
  });
  return scenarios.flatMap(({ name: scenario }) =>
    programs.flatMap(({ name: peer }) => {
      const found = results.get(`${peer}|${scenario}`);
      return found ? [{ peer, scenario, ...found }] : [];
    }),
  );
};
