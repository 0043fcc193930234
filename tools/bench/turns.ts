import type { Bench } from './bench.ts';
import { PEERS, type Peer } from './peers.ts';
import { freePort, start, type Running } from './processes.ts';
import { check, type Checked } from './scenarios.ts';
import { SERVICE, SERVICE_WITHOUT_HOT_PATH, startService, waitUntilReady } from './service.ts';
import { openStage } from './stage.ts';

const service = (name: string, checkout: string, env: Readonly<Record<string, string>>): Peer => ({
  name,
  isNode: true,
  warmUpSeconds: 2,
  hasTail: true,
  commands: () => [],
  service: { checkout, env },
});

/** The service, as it was built in `checkout`. */
export const serviceIn = (checkout: string): Peer =>
  service(checkout === '.' ? SERVICE : `${SERVICE} in ${checkout}`, checkout, {});

export const PROGRAMS: readonly Peer[] = [
  serviceIn('.'),
  { ...service(SERVICE_WITHOUT_HOT_PATH, '.', { HOT_PATH: 'off' }), hasTail: false },
  ...PEERS,
];

export type Turn = (peer: Peer, running: Running, url: string, checked: Checked) => Promise<void>;

/**
 * In each round, starts each program anew, checks it, and gives it a turn: load from elsewhere on
 * the machine then does not hit only one of them. A program that fails is reported, and the others
 * go on.
 */
export const takeTurns = async (
  bench: Bench,
  programs: readonly Peer[],
  turn: Turn,
): Promise<void> => {
  const { emulator, rounds, print } = bench;
  const stage = await openStage(bench);
  for (let round = 1; round <= rounds; round += 1) {
    for (const peer of programs) {
      const port = await freePort();
      const commands = peer.commands(stage, port);
      if (!commands) {
        if (round === 1) print(`${peer.name}: not installed, skipped`);
        continue;
      }
      const url = `http://127.0.0.1:${port}/banks`;
      const running =
        peer.service === undefined
          ? await start(commands)
          : await startService(emulator, port, peer.service.env, undefined, peer.service.checkout);
      try {
        await waitUntilReady(url);
        await turn(peer, running, url, await check(peer.name, url, stage.list));
      } catch (error) {
        print(`${peer.name}: failed in round ${round}: ${String(error)}`);
      } finally {
        await running.stop();
      }
    }
    print(`round ${round} of ${rounds} done`);
  }
  await stage.close();
};
