import type { ListStatus } from '../../src/banks/bank-list.ts';
import type { ServiceEvent } from '../../src/telemetry/events.ts';
import type { Life } from '../replica.ts';
import { isOpen, SECOND, STORE_MS, type Court, type Facts } from './facts.ts';
import type { GuardJudge } from './guard.ts';

// Judges when the provider is asked, and for what; who of the replicas asks; and how failures are told and repeated.

type LoadFailed = Extract<ServiceEvent, { type: 'list-load-failed' }>;

export const createLoadJudge = (court: Court, { mayRefuse }: GuardJudge) => {
  const { setup, nowMs: now, news, expect, provider, redis } = court;
  const expectTurn = court.expectOf('one call per TTL');
  const expectBackOff = court.expectOf('retries back off');
  const expectProgress = court.expectOf('loads go on');
  const expectShown = court.expectOf('failures are shown');
  const expectReason = court.expectOf('failures are those of the provider');
  const { timeoutMs } = setup;

  news.on('call', (life, call) => {
    const { facts } = life;
    const before = facts.call;
    expect(!isOpen(before), 'one load at a time', 'a call while another is under way');
    if (before?.signal === call.signal) {
      const isNew = facts.wasUnauthorized && before.token !== call.token;
      expect(isNew, 'one retry with a new token', 'a second call');
    } else {
      facts.delivery = undefined;
      facts.excuses.call.clear();
      delete facts.retryAfterMs.call;
      judgeBeginning(life);
    }
    facts.progressAtMs = now();
    facts.call = call;
    facts.waiting = undefined;
    facts.wasUnauthorized = false;
  });
  news.on('token call', ({ facts }) => void delete facts.retryAfterMs.token);
  news.on('delivery', ({ facts }, delivery) => void (facts.delivery = delivery));
  news.on('unauthorized', ({ facts }) => void (facts.wasUnauthorized = true));
  news.on('Retry-After', ({ facts }, ms, from) => void (facts.retryAfterMs[from] = ms));
  news.on('excuse', ({ facts }, kinds, from) => {
    for (const kind of kinds) facts.excuses[from].add(kind);
  });
  // A claim of the lease: this replica begins to wait for its turn.
  news.on('command', ({ facts, core }, command) => {
    if (command !== 'setIfAbsent') return;
    const patienceMs = timeoutMs * (core.list.served() ? 2 : 0.5);
    facts.waiting ??= { sinceMs: now(), patienceMs };
  });

  const judgeBeginning = (life: Life): void => {
    const { facts } = life;
    const isForced = facts.refreshes.size > 0;
    facts.callHasLease = !isForced && redis.lease()?.owner === life;
    // What had changed while it got its token came too late for its decision.
    if (isForced || (facts.tokenCall?.endedAtMs ?? -1) > now() - 200) return;
    const ageMs = life.core.list.status().ageMs ?? Infinity;
    const ttlMs = court.ttlOf(life);
    const isDue = facts.attempts > 0 || facts.held === undefined || ageMs >= ttlMs * 0.99 - 2;
    expectTurn(isDue, () => `its list is ${ageMs} ms old`);
    if (facts.attempts > 0) {
      const soonestMs = facts.failedAtMs + Math.min(SECOND, ttlMs);
      const earliestMs = Math.max(soonestMs, facts.retryAtMs, facts.dueAtMs);
      expectBackOff(now() >= earliestMs - 2, () => `${earliestMs - now()} ms too early`);
    }
    if (setup.hasRedis) judgeTurn(life);
  };

  /** Whether the replicas call one after the other, and only if nobody has called. */
  const judgeTurn = (life: Life): void => {
    const { facts } = life;
    const calmMs = Math.min(redis.calmForMs(), now() - life.stateSinceMs) - 4 * timeoutMs;
    if (calmMs < 0 || !court.areTimesTrue() || facts.attempts > 0 || !life.core.list.served()) return;
    if (life.lateMs(now() - 4 * timeoutMs) > 0) return;
    const { waiting } = facts;
    const hasWaited = waiting !== undefined && now() - waiting.sinceMs >= waiting.patienceMs - 10;
    for (const { life: other } of court.replicas) {
      if (!other || other === life || hasWaited) continue;
      const { call, callHasLease } = other.facts;
      expectTurn(
        !(call && isOpen(call) && callHasLease) || call.askedAtMs < now() - timeoutMs,
        () => `${other.name} is loading`,
      );
    }
    // Not if it is gone, or somebody else has written there since.
    const { sharedList } = court;
    if (!sharedList || !redis.list()?.bytes.equals(sharedList.bytes)) return;
    if (mayRefuse(sharedList.origin.version.published)) return;
    // It was shared by a replica that does not know what an operator accepted since: by one that restarted while
    // the store held nothing.
    if (sharedList.acceptedAtMs < (facts.held?.acceptedAtMs ?? 0)) return;
    // With the lease it looks there once more.
    const leaseMs = facts.callHasLease ? (redis.lease()?.writtenAtMs ?? 0) : 0;
    const isFresh =
      now() - sharedList.origin.deliveredAtMs < court.ttlOf(life) * 0.98 &&
      sharedList.writtenAtMs < Math.max(leaseMs, now() - 4 * SECOND);
    expectTurn(!isFresh, 'the shared list is fresh');
  };

  news.on('list-load-failed', (life, event) => {
    const { error } = event;
    const { facts } = life;
    const { cause } = error;
    expect(error.kind !== 'internal', 'no defect', () =>
      cause instanceof Error ? `${cause.stack}` : String(cause),
    );
    judgeReason(facts, event);
    const isAfterToken = (facts.tokenCall?.askedAtMs ?? -1) > (facts.call?.askedAtMs ?? -1);
    const retryAfterMs = facts.retryAfterMs[isAfterToken ? 'token' : 'call'];
    if (retryAfterMs !== undefined && (error.kind === 'rate_limited' || error.kind === 'unavailable'))
      expectBackOff(error.retryAfterMs === retryAfterMs, 'Retry-After was not noticed');
    const ttlMs = court.ttlOf(life);
    const served = life.core.list.served();
    const usableForMs = served ? served.freshForMs + setup.maxStaleMs : 0;
    const longestMs = Math.min(Math.max(ttlMs, 3_600_000), Math.max(usableForMs, 60_000));
    const askedMs = Math.min(error.retryAfterMs ?? 0, longestMs);
    if (facts.attempts === 0) facts.failingSinceMs = court.world.wallMs() + life.replica.wallOffsetMs;
    facts.attempts += 1;
    facts.error = error;
    facts.failedAtMs = now();
    facts.retryAtMs = now() + askedMs;
    facts.progressAtMs = now();
  });

  /** Whether the provider gave reason for this failure of this very load. */
  const judgeReason = (facts: Facts, { error: { kind, message }, durationMs }: LoadFailed): void => {
    const { call, tokenCall, excuses } = facts;
    const beganAtMs = now() - durationMs - 1;
    const isOfCall = call !== undefined && call.askedAtMs >= beganAtMs && excuses.call.has(kind);
    const isOfToken = (tokenCall?.endedAtMs ?? now()) >= beganAtMs && excuses.token.has(kind);
    const isOver = kind === 'timeout' && durationMs >= timeoutMs - 2;
    expectReason(isOfCall || isOfToken || isOver, () => `${kind}: ${message}; ${durationMs} ms`);
    const healthySinceMs = provider.healthySinceMs();
    const isOld = tokenCall !== undefined && tokenCall.askedAtMs <= healthySinceMs;
    const isRefused = ['shrunk', 'drifted', 'missing_field', 'unauthorized'].includes(kind);
    expectReason(
      healthySinceMs >= beganAtMs || (isOld && (tokenCall.endedAtMs ?? now()) >= beganAtMs) || isRefused,
      () => `${kind}, though all is well`,
    );
  };

  const judgeFailure = (life: Life, status: ListStatus): void => {
    const { facts } = life;
    const { failure, failing, nextLoadInMs, ageMs, state } = status;
    const ttlMs = court.ttlOf(life);
    expectShown(
      (failure !== undefined) === facts.attempts > 0 && (failing?.attempts ?? 0) === facts.attempts,
      () => `${failing?.attempts} failures instead of ${facts.attempts}`,
    );
    const sinceMs = failing?.sinceMs ?? facts.failingSinceMs;
    const isSinceThen = failing === undefined || Math.abs(sinceMs - facts.failingSinceMs) <= 1;
    expectShown(isSinceThen, () => `since ${sinceMs} instead of ${facts.failingSinceMs}`);
    if (nextLoadInMs === 0) return;
    // It is idle.
    facts.waiting = undefined;
    facts.dueAtMs = now() + nextLoadInMs;
    if (facts.attempts > 0 && facts.failedAtMs === now()) {
      const step = Math.min(ttlMs, 60 * SECOND, 1.5 * SECOND * 2 ** (facts.attempts - 1));
      const askedMs = facts.retryAtMs - now();
      const isRight =
        nextLoadInMs <= Math.max(askedMs, step) + 2 &&
        nextLoadInMs >= Math.max(askedMs, Math.min(SECOND, step)) - 2;
      expectBackOff(isRight, () => `${nextLoadInMs} ms after ${facts.attempts} failures`);
    }
    const atAgeMs = (ageMs ?? 0) + nextLoadInMs;
    if (state === 'fresh' && facts.attempts === 0)
      expectProgress(
        atAgeMs >= 0.99 * ttlMs - 2 && atAgeMs <= 0.998 * ttlMs + 2,
        () => `the next load comes at an age of ${atAgeMs} ms`,
      );
  };

  /** Whether it goes on while the list is not fresh. */
  const judgeProgress = (life: Life, { state, failure }: ListStatus): void => {
    const { facts } = life;
    const { waiting } = facts;
    if (waiting) {
      const boundMs = waiting.patienceMs + 3 * STORE_MS + SECOND + life.lateMs(waiting.sinceMs);
      const waitedMs = now() - waiting.sinceMs;
      const isAsking = isOpen(facts.tokenCall);
      expectProgress(waitedMs <= boundMs || isAsking, () => `waits for its turn for ${waitedMs} ms`);
    }
    if (state === 'fresh' && facts.attempts === 0) {
      facts.unwellSinceMs = undefined;
      return;
    }
    facts.unwellSinceMs ??= now();
    const longestRetryMs = Math.min(court.ttlOf(life), 60 * SECOND);
    const sinceMs = Math.max(facts.unwellSinceMs, facts.retryAtMs, life.stateSinceMs);
    const msSince = (otherMs: number): number => {
      const lastMs = Math.max(sinceMs, otherMs);
      return now() - lastMs - life.lateMs(lastMs);
    };
    const quietMs = msSince(facts.progressAtMs);
    const boundMs = longestRetryMs + 3 * timeoutMs + 3 * SECOND;
    expectProgress(quietMs <= boundMs, () => `nothing for ${quietMs} ms`);
    const kind = failure?.kind;
    const isRefused = kind === 'shrunk' || kind === 'drifted';
    if (isRefused || facts.refreshes.size > 0 || facts.refreshedAtMs > now() - court.recoveryMs) return;
    const wellMs = msSince(provider.healthySinceMs());
    expect(
      wellMs <= court.recoveryMs,
      'fresh once the provider is healthy',
      () => `${kind ?? state} after ${wellMs} ms`,
    );
  };

  return { inspect: judgeFailure, judgeTimes: judgeProgress };
};
