import type { ListStatus } from '../../src/banks/bank-list.ts';
import type { ServiceEvent } from '../../src/telemetry/events.ts';
import type { Call } from '../provider.ts';
import { lateMs, WALL_START_MS, type Life } from '../replica.ts';
import { isOpen, perLife, SECOND, STORE_MS, type Court, type Facts } from './facts.ts';

// Judges when the provider is asked, and for what; who of the replicas asks; and how failures are told and repeated.

type LoadFailed = Extract<ServiceEvent, { type: 'list-load-failed' }>;

/** Own to this judge, for each life. */
class Course {
  wasUnauthorized = false;
  /** `Retry-After` of the answer to the call, and of that to the token request. */
  retryAfterMs: number | undefined;
  tokenRetryAfterMs: number | undefined;
  /** When the next load was said to come. */
  dueAtMs = -Infinity;
}

export const createLoadJudge = (court: Court, mayRefuse: (text: string) => boolean) => {
  const { setup, nowMs: now, expect, factsOf } = court;
  const expectTurn = court.expectOf('one call per TTL');
  const expectBackOff = court.expectOf('retries back off');
  const expectProgress = court.expectOf('loads go on');
  const expectReason = court.expectOf('failures are those of the provider');
  const { timeoutMs } = setup;
  const courseOf = perLife(() => new Course());

  const onCall = (life: Life, call: Call): void => {
    const [facts, course] = [factsOf(life), courseOf(life)];
    const before = facts.call;
    expect(!isOpen(before), 'one load at a time', 'a call while another is under way');
    if (before && before.signal === call.signal)
      expect(
        course.wasUnauthorized && before.token !== call.token,
        'one retry with a new token',
        'a second call',
      );
    else {
      facts.delivery = undefined;
      facts.excuses.call.clear();
      course.retryAfterMs = undefined;
      judgeBeginning(life, facts, course);
    }
    facts.progressAtMs = now();
    facts.call = call;
    facts.waiting = undefined;
    course.wasUnauthorized = false;
  };

  const judgeBeginning = (life: Life, facts: Facts, course: Course): void => {
    const isForced = facts.refreshes.size > 0;
    facts.callHasLease = !isForced && court.redis().lease()?.owner === life;
    // What had changed while it got its token came too late for its decision.
    if (isForced || (facts.tokenCall?.endedAtMs ?? -1) > now() - 200) return;
    const ageMs = life.core.list.status().ageMs ?? Infinity;
    const ttlMs = court.ttlOf(life);
    const isDue = facts.failing || facts.held === undefined || ageMs >= ttlMs * 0.99 - 2;
    expectTurn(isDue, () => `its list is ${ageMs} ms old`);
    if (facts.failing) {
      const earliestMs = Math.max(
        facts.failedAtMs + Math.min(SECOND, ttlMs),
        facts.retryAtMs,
        course.dueAtMs,
      );
      expectBackOff(now() >= earliestMs - 2, () => `${earliestMs - now()} ms too early`);
    }
    if (setup.hasRedis) judgeTurn(life, facts);
  };

  /** Whether the replicas call one after the other, and only if nobody has called. */
  const judgeTurn = (life: Life, facts: Facts): void => {
    const redis = court.redis();
    const calmMs = Math.min(redis.calmForMs(), now() - life.stateSinceMs) - 4 * timeoutMs;
    if (calmMs < 0 || !court.areTimesTrue() || facts.failing || !life.core.list.served()) return;
    if (lateMs(life, now() - 4 * timeoutMs) > 0) return;
    const { waiting } = facts;
    const hasWaited = waiting !== undefined && now() - waiting.sinceMs >= waiting.patienceMs - 10;
    for (const { life: other } of court.replicas()) {
      if (!other || other === life || hasWaited) continue;
      const { call, callHasLease } = factsOf(other);
      expectTurn(
        !(call && isOpen(call) && callHasLease) || call.askedAtMs < now() - timeoutMs,
        () => `${other.name} is loading`,
      );
    }
    // Not if it is gone, or somebody else has written there since.
    const { sharedList } = court;
    if (!sharedList || !redis.list()?.bytes.equals(sharedList.bytes)) return;
    if (mayRefuse(sharedList.origin.version.published)) return;
    // With the lease it looks there once more.
    const leaseMs = facts.callHasLease ? (redis.lease()?.writtenAtMs ?? 0) : 0;
    const isFresh =
      now() - sharedList.origin.deliveredAtMs < court.ttlOf(life) * 0.98 &&
      sharedList.writtenAtMs < Math.max(leaseMs, now() - 4 * SECOND);
    expectTurn(!isFresh, 'the shared list is fresh');
  };

  const onFailed = (life: Life, event: LoadFailed): void => {
    const { error } = event;
    const [facts, course] = [factsOf(life), courseOf(life)];
    expect(
      error.kind !== 'internal',
      'no defect',
      () => `${String(error.cause)} ${error.cause instanceof Error ? error.cause.stack : ''}`,
    );
    judgeReason(facts, event);
    const isAfterToken = (facts.tokenCall?.askedAtMs ?? -1) > (facts.call?.askedAtMs ?? -1);
    const retryAfterMs = isAfterToken ? course.tokenRetryAfterMs : course.retryAfterMs;
    if (retryAfterMs !== undefined && (error.kind === 'rate_limited' || error.kind === 'unavailable'))
      expectBackOff(error.retryAfterMs === retryAfterMs, 'Retry-After was not noticed');
    const ttlMs = court.ttlOf(life);
    const askedMs = Math.min(error.retryAfterMs ?? 0, Math.max(ttlMs, 3_600_000));
    if (!facts.failing) facts.failingSinceMs = WALL_START_MS + now() + life.replica.wallOffsetMs;
    facts.failing = true;
    facts.attempts += 1;
    facts.error = error;
    facts.failedAtMs = now();
    facts.retryAtMs = now() + askedMs;
    facts.progressAtMs = now();
  };

  /** Whether the provider gave reason for this failure of this very load. */
  const judgeReason = (facts: Facts, { error: { kind, message }, durationMs }: LoadFailed): void => {
    const { call, tokenCall, excuses } = facts;
    const beganAtMs = now() - durationMs - 1;
    const isOfCall = call !== undefined && call.askedAtMs >= beganAtMs && excuses.call.has(kind);
    const isOfToken = (tokenCall?.endedAtMs ?? now()) >= beganAtMs && excuses.token.has(kind);
    const isOver = kind === 'timeout' && durationMs >= timeoutMs - 2;
    expectReason(isOfCall || isOfToken || isOver, () => `${kind}: ${message}; ${durationMs} ms`);
    const isOld = tokenCall !== undefined && tokenCall.askedAtMs <= court.healthySinceMs;
    const isRefused = ['shrunk', 'drifted', 'missing_field', 'unauthorized'].includes(kind);
    expectReason(
      court.healthySinceMs >= beganAtMs ||
        (isOld && (tokenCall.endedAtMs ?? now()) >= beganAtMs) ||
        isRefused,
      () => `${kind}, though all is well`,
    );
  };

  const judgeFailure = (life: Life, status: ListStatus): void => {
    const [facts, course] = [factsOf(life), courseOf(life)];
    const { failure, failing, nextLoadInMs, ageMs, state } = status;
    const ttlMs = court.ttlOf(life);
    expect(
      (failure !== undefined) === facts.failing && (failing?.attempts ?? 0) === facts.attempts,
      'failures are shown',
      () => `${failing?.attempts} failures instead of ${facts.attempts}`,
    );
    if (failing)
      expect(
        Math.abs(failing.sinceMs - facts.failingSinceMs) <= 1,
        'failures are shown',
        () => `since ${failing.sinceMs} instead of ${facts.failingSinceMs}`,
      );
    if (nextLoadInMs === 0) return;
    // It is idle.
    facts.waiting = undefined;
    course.dueAtMs = now() + nextLoadInMs;
    if (facts.failing && facts.failedAtMs === now()) {
      const step = Math.min(ttlMs, 60 * SECOND, 1.5 * SECOND * 2 ** (facts.attempts - 1));
      const askedMs = facts.retryAtMs - now();
      const isRight =
        nextLoadInMs <= Math.max(askedMs, step) + 2 &&
        nextLoadInMs >= Math.max(askedMs, Math.min(SECOND, step)) - 2;
      expectBackOff(isRight, () => `${nextLoadInMs} ms after ${facts.attempts} failures`);
    }
    const atAgeMs = (ageMs ?? 0) + nextLoadInMs;
    if (state === 'fresh' && !facts.failing)
      expectProgress(
        atAgeMs >= 0.99 * ttlMs - 2 && atAgeMs <= 0.998 * ttlMs + 2,
        () => `the next load comes at an age of ${atAgeMs} ms`,
      );
  };

  /** Whether it goes on while the list is not fresh. */
  const judgeProgress = (life: Life, { state, failure }: ListStatus): void => {
    const facts = factsOf(life);
    const { waiting } = facts;
    if (waiting) {
      const boundMs = waiting.patienceMs + 3 * STORE_MS + SECOND + lateMs(life, waiting.sinceMs);
      const waitedMs = now() - waiting.sinceMs;
      const isAsking = isOpen(facts.tokenCall);
      expectProgress(waitedMs <= boundMs || isAsking, () => `waits for its turn for ${waitedMs} ms`);
    }
    if (state === 'fresh' && !facts.failing) {
      facts.unwellSinceMs = undefined;
      return;
    }
    facts.unwellSinceMs ??= now();
    const longestRetryMs = Math.min(court.ttlOf(life), 60 * SECOND);
    const sinceMs = Math.max(facts.unwellSinceMs, facts.retryAtMs, life.stateSinceMs);
    const msSince = (otherMs: number): number => {
      const lastMs = Math.max(sinceMs, otherMs);
      return now() - lastMs - lateMs(life, lastMs);
    };
    const quietMs = msSince(facts.progressAtMs);
    const boundMs = longestRetryMs + 3 * timeoutMs + 3 * SECOND;
    expectProgress(quietMs <= boundMs, () => `nothing for ${quietMs} ms`);
    const kind = failure?.kind;
    const isRefused = kind === 'shrunk' || kind === 'drifted';
    if (isRefused || facts.refreshes.size > 0 || facts.refreshedAtMs > now() - court.recoveryMs) return;
    const wellMs = msSince(court.healthySinceMs);
    expect(
      wellMs <= court.recoveryMs,
      'fresh once the provider is healthy',
      () => `${kind ?? state} after ${wellMs} ms`,
    );
  };

  return {
    onCall,
    onFailed,
    onUnauthorized: (life: Life) => void (courseOf(life).wasUnauthorized = true),
    onTokenCall: (life: Life) => void (courseOf(life).tokenRetryAfterMs = undefined),
    onRetryAfter: (life: Life, ms: number, from: 'list' | 'token') => {
      courseOf(life)[from === 'list' ? 'retryAfterMs' : 'tokenRetryAfterMs'] = ms;
    },
    /** A claim of the lease: this replica begins to wait for its turn. */
    onClaim: (life: Life) => {
      const patienceMs = timeoutMs * (life.core.list.served() ? 2 : 0.5);
      factsOf(life).waiting ??= { sinceMs: now(), patienceMs };
    },
    inspect: judgeFailure,
    judgeTimes: judgeProgress,
  };
};
