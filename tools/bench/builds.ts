import type { Bench } from './bench.ts';
import { measure, type Sample } from './load.ts';
import type { Peer } from './peers.ts';
import { freePort } from './processes.ts';
import type { Result } from './report.ts';
import { check, warmUp, type Scenario } from './scenarios.ts';
import { startService, waitUntilReady } from './service.ts';

/** Each of a second, so that what else happens on the machine hits all builds alike. */
const TURNS = 8;
const WARM_UP_SECONDS = 2;

/**
 * The service as it was built in several checkouts, in each of `scenarios`. In each round all
 * builds are started, and take short turns side by side.
 */
export const compareBuilds = async (
  bench: Bench,
  scenarios: readonly Scenario[],
  builds: readonly Peer[],
): Promise<Result[]> => {
  const results = builds.flatMap(({ name: peer }) =>
    scenarios.map(({ name }) => ({ peer, scenario: name, wireBytes: 0, samples: [] as Sample[] })),
  );
  for (let round = 1; round <= bench.rounds; round += 1) {
    const started = [];
    for (const { name, service } of builds) started.push(await startBuild(bench, name, service));
    for (const { running, url } of started) await warmUp(running, url, WARM_UP_SECONDS, scenarios);
    for (let turn = 0; turn < TURNS; turn += 1) {
      const order = turn % 2 === 0 ? started : started.toReversed();
      for (const { name, headers, differs } of scenarios)
        for (const { build, running, url, etag } of order) {
          const sample = await measure(running, {
            url,
            headers: headers(etag),
            differs,
            seconds: 1,
          });
          results.find((row) => row.peer === build && row.scenario === name)?.samples.push(sample);
        }
    }
    for (const { running } of started) await running.stop();
    bench.print(`round ${round} of ${bench.rounds} done`);
  }
  return results;
};

const startBuild = async ({ emulator }: Bench, build: string, service: Peer['service']) => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/banks`;
  const running = await startService(emulator, port, service?.env, undefined, service?.checkout);
  await waitUntilReady(url);
  const { browser } = await check(build, url);
  return { build, running, url, etag: browser.etag };
};
