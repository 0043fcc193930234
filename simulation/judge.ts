import type { Plan } from './events.ts';
import { createEndJudge } from './judges/end.ts';
import { createCourt, type Surroundings } from './judges/facts.ts';
import { createGuardJudge } from './judges/guard.ts';
import { createLeaseJudge } from './judges/leases.ts';
import { createLimitJudge } from './judges/limits.ts';
import { createLoadJudge } from './judges/loads.ts';
import { createRequestJudge } from './judges/requests.ts';
import { createServedJudge } from './judges/served.ts';
import { createStoreJudge } from './judges/stores.ts';
import { createTokenJudge } from './judges/tokens.ts';
import { Life } from './replica.ts';
import { DIRECTOR, type Owner, type World } from './world.ts';

// Judges after every step whether what the replicas did is what was promised. It knows the truth from the provider's side, and
// looks at the core only through its interface. What is judged is in judges/; here it is put together.

export const createJudge = (world: World, plan: Plan, surroundings: Surroundings) => {
  const { replicas } = surroundings;
  const court = createCourt(world, plan, surroundings);
  const limits = createLimitJudge(court);
  const requests = createRequestJudge(court, limits);
  const guard = createGuardJudge(court);
  const served = createServedJudge(court, guard);
  const loads = createLoadJudge(court, guard);
  const tokens = createTokenJudge(court);
  const stores = createStoreJudge(court, guard);
  let [leastOffsetMs, mostOffsetMs] = [0, 0];

  /** Those to which something may happen in a step of `owner`. */
  const livesOf = (owner: Owner): Life[] => {
    if (owner === DIRECTOR) return replicas.flatMap(({ life }) => life ?? []);
    return owner.isAlive && owner instanceof Life ? [owner] : [];
  };

  // At the last moment before something happens, what takes too long is seen.
  world.news.on('step', (_what, owner) => {
    for (const life of livesOf(owner)) {
      const status = life.core.list.status();
      requests.judgeTimes(life);
      limits.judgeTimes(life, status);
      stores.judgeTimes(life);
      if (life.state !== 'running') continue;
      tokens.judgeTimes(life);
      loads.judgeTimes(life, status);
    }
  });
  createLeaseJudge(court);

  return {
    court,
    /** An operator and a browser, whose answers are judged. */
    refresh: requests.refresh,
    request: requests.request,
    /** Until the last `Retry-After` is over. */
    retryMs: () =>
      Math.max(0, ...replicas.map(({ life }) => (life?.facts.retryAtMs ?? -Infinity) - world.nowMs())),
    onWallClock: () => {
      const offsets = replicas.map(({ wallOffsetMs }) => wallOffsetMs);
      // A list that was saved by one clock may be read by any later one.
      leastOffsetMs = Math.min(leastOffsetMs, ...offsets);
      mostOffsetMs = Math.max(mostOffsetMs, ...offsets);
      court.wallSpreadMs = mostOffsetMs - leastOffsetMs;
      court.sameClocksSinceMs = offsets.every((offsetMs) => offsetMs === 0) ? world.nowMs() : Infinity;
    },
    afterStep: (owner: Owner) => {
      for (const life of livesOf(owner)) {
        const status = life.core.list.status();
        served.inspect(life, status);
        stores.inspect(life);
        if (life.state === 'running') loads.inspect(life, status);
      }
    },
    judgeEnd: createEndJudge(court),
  };
};
