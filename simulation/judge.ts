import type { ServiceEvent } from '../src/telemetry/events.ts';
import type { Plan } from './events.ts';
import { createCourt } from './judges/facts.ts';
import { createEndJudge } from './judges/end.ts';
import { createGuardJudge } from './judges/guard.ts';
import { createLeaseJudge } from './judges/leases.ts';
import { createLimitJudge } from './judges/limits.ts';
import { createLoadJudge } from './judges/loads.ts';
import { createRequestJudge } from './judges/requests.ts';
import { createServedJudge } from './judges/served.ts';
import { createStoreJudge } from './judges/stores.ts';
import { createTokenJudge } from './judges/tokens.ts';
import type { ProviderWitness } from './provider.ts';
import type { RedisWitness } from './redis.ts';
import { Life, type Outcome, type ReplicaWitness } from './replica.ts';
import { DIRECTOR, type Owner, type World } from './world.ts';

// Judges after every step whether what the replicas did is what was promised. It knows the truth from the provider's side, and
// looks at the core only through its interface. What is judged is in judges/; here it is put together.

export const createJudge = (world: World, plan: Plan) => {
  const court = createCourt(world, plan);
  const { expect, factsOf, lifeOf } = court;
  const guard = createGuardJudge(court);
  const served = createServedJudge(court, guard);
  const loads = createLoadJudge(court, guard.mayRefuse);
  const tokens = createTokenJudge(court);
  const requests = createRequestJudge(court);
  const leases = createLeaseJudge(court);
  const stores = createStoreJudge(court, guard.mayRefuse);
  const limits = createLimitJudge(court);
  let [leastOffsetMs, mostOffsetMs] = [0, 0];
  let calls = 0;

  const providerWitness: ProviderWitness = {
    onCall: (call) => {
      const life = lifeOf(call.owner);
      calls += 1;
      limits.onCall(life);
      loads.onCall(life, call);
      tokens.onCall(life, call);
    },
    onTokenCall: (call) => {
      const life = lifeOf(call.owner);
      limits.onCall(life);
      loads.onTokenCall(life);
      tokens.onTokenCall(life, call);
    },
    onDelivery: (delivery, { owner }) => void (factsOf(owner).delivery = delivery),
    onExcuse: (owner, kinds, from) => {
      for (const kind of kinds) factsOf(owner).excuses[from].add(kind);
    },
    onUnauthorized: ({ owner }) => {
      const life = lifeOf(owner);
      loads.onUnauthorized(life);
      tokens.onUnauthorized(life);
    },
    onRetryAfter: (owner, ms, from) => {
      const life = lifeOf(owner);
      loads.onRetryAfter(life, ms, from);
      if (from === 'token') tokens.onRetryAfter(life, ms);
    },
  };

  /** Those to which something may happen in a step of `owner`. */
  const livesOf = (owner: Owner): Life[] => {
    if (owner === DIRECTOR) return court.replicas().flatMap(({ life }) => life ?? []);
    return owner.isAlive && owner instanceof Life ? [owner] : [];
  };

  const onEvent = (life: Life, event: ServiceEvent): void => {
    expect(life.state !== 'stopped', 'quiet after a stop', () => `told ${event.type}`);
    if (event.type === 'list-renewed') {
      served.onRenewed(life, event);
      stores.onRenewed(life);
    }
    if (event.type === 'list-restored') {
      served.onRestored(life, event);
      // Also one that is fresh for hardly any longer is loaded anew at once.
      if ((life.core.list.status().ageMs ?? 0) >= 0.99 * court.ttlOf(life)) limits.count(life, 'stale lists');
    }
    if (event.type === 'list-load-failed') {
      loads.onFailed(life, event);
      guard.onFailed(life, event.error);
    }
    if ('store' in event) stores.onEvent(life, event);
  };

  const redisWitness: RedisWitness = {
    onCommand: (owner, command) => {
      const life = lifeOf(owner);
      limits.count(life, 'commands');
      if (command === 'setIfAbsent') loads.onClaim(life);
      if (command === 'subscribe') leases.onSubscribe(life);
    },
    onLease: (owner, isGranted, lifeMs, name) => {
      if (owner.isAlive) leases.onLease(lifeOf(owner), isGranted, lifeMs, name);
    },
    onLeaseReturned: (owner) => {
      if (owner.isAlive) leases.onReturned(lifeOf(owner));
    },
    onListWritten: stores.onListWritten,
  };

  const replicaWitness: Omit<ReplicaWitness, 'onRunning'> = {
    onEvent,
    onTimer: (life) => limits.count(life, 'timers'),
    onDisk: (life) => expect(life.state !== 'stopped', 'quiet after a stop', 'the disk'),
    onDiskDone: stores.onDiskDone,
  };

  return {
    providerWitness,
    redisWitness,
    replicaWitness,
    court,
    /** Until the last `Retry-After` is over. */
    retryMs: () =>
      Math.max(
        0,
        ...[...court.all()].map(([owner, { retryAtMs }]) => (owner.isAlive ? retryAtMs - world.nowMs() : 0)),
      ),
    calls: () => calls,
    onProviderChange: () => {
      court.healthySinceMs = court.provider().isHealthy() ? world.nowMs() : Infinity;
    },
    onWallClock: () => {
      const offsets = court.replicas().map(({ wallOffsetMs }) => wallOffsetMs);
      // A list that was saved by one clock may be read by any later one.
      leastOffsetMs = Math.min(leastOffsetMs, ...offsets);
      mostOffsetMs = Math.max(mostOffsetMs, ...offsets);
      court.wallSpreadMs = mostOffsetMs - leastOffsetMs;
      court.sameClocksSinceMs = offsets.every((offsetMs) => offsetMs === 0) ? world.nowMs() : Infinity;
    },
    refresh: (life: Life, accept: readonly ('shrunk' | 'drifted')[]): ((outcome: Outcome) => void) => {
      limits.count(life, 'refreshes');
      return requests.refresh(life, accept);
    },
    request: requests.request,
    /** At the last moment before something happens to `owner`, what takes too long is seen. */
    beforeStep: (owner: Owner) => {
      limits.beforeStep();
      for (const life of livesOf(owner)) {
        const status = life.core.list.status();
        requests.judgeTimes(life);
        limits.judgeTimes(life, status);
        stores.judgeTimes(life);
        if (life.state !== 'running') continue;
        tokens.judgeTimes(life);
        loads.judgeTimes(life, status);
      }
      leases.judgeTimes();
    },
    afterStep: (owner: Owner) => {
      for (const life of livesOf(owner)) {
        const status = life.core.list.status();
        served.inspect(life, status);
        stores.inspect(life);
        if (life.state === 'running') loads.inspect(life, status);
      }
    },
    judgeEnd: createEndJudge(court, stores),
  };
};
