import type { Life } from '../replica.ts';
import { SECOND, type Court } from './facts.ts';

// Judges the end of a run, when all has been healed: everybody has the provider's list, and so has everything that keeps it.

export const createEndJudge = (court: Court) => {
  const { setup, expect, provider, redis } = court;
  const agree = court.expectOf('a fleet agrees');

  /** @param isAlone whether Redis stays so that replicas cannot share lists for good */
  return (lives: readonly Life[], isAlone: boolean): void => {
    const { published } = provider.versions.current();
    for (const life of lives) {
      const { held, ageMs = Infinity } = life.core.list.status();
      // Its renewal may be under way.
      const boundMs = court.ttlOf(life) + setup.timeoutMs + SECOND;
      agree(ageMs <= boundMs, `the list of ${life.name} is ${ageMs} ms old`);
      agree(held?.json.toString() === published, `${life.name} has another list`);
      const { refreshes, arrivals, last: lastSaid } = life.facts;
      expect(refreshes.size + arrivals.size === 0, 'a refresh is answered', 'one is not');
      for (const [store, last] of lastSaid)
        agree(last !== 'store-failed' || isAlone, `${life.name} says that ${store} fails`);
      const { content } = life.replica.disk;
      if (setup.hasSnapshot)
        agree(content?.includes(published) === true, `the snapshot of ${life.name} differs`);
    }
    if (setup.hasRedis && !isAlone)
      agree(redis.list()?.bytes.includes(published) === true, 'Redis has another list');
  };
};
