import { LoadError } from '../../src/banks/load-error.ts';
import type { Promised } from '../promises.ts';
import type { Life } from '../replica.ts';
import { ENCODING_MS, isOpen, SECOND, STORE_MS, TOLERANCE_MS, type Court, type Waiting } from './facts.ts';
import type { LimitJudge } from './limits.ts';

// Judges the answers to operators (`POST /refresh`) and to requests that find no list.

export const createRequestJudge = (court: Court, { count }: LimitJudge) => {
  const { setup, nowMs: now, expect, provider, redis } = court;
  const expectTruth = court.expectOf('a first request tells the truth');
  const expectTruthOfRefresh = court.expectOf('a refresh tells the truth');
  const { timeoutMs } = setup;

  const begin = (waits: Set<Waiting>): Waiting => {
    const waiting: Waiting = { sinceMs: now(), others: waits.size };
    for (const other of waits) other.others += 1;
    waits.add(waiting);
    return waiting;
  };

  const judgeDefect = (outcome: unknown): void =>
    expect(
      outcome === undefined || (outcome instanceof LoadError && outcome.kind !== 'internal'),
      'no defect',
      () => String(outcome),
    );

  /** An operator asks for a refresh. */
  const refresh = (life: Life, accept: readonly ('shrunk' | 'drifted')[]): void => {
    count(life, 'refreshes');
    const { facts } = life;
    const waiting = begin(facts.refreshes);
    const acceptedAtMs = facts.held?.acceptedAtMs ?? 0;
    const judge = (outcome: unknown): void => {
      facts.refreshes.delete(waiting);
      facts.refreshedAtMs = now();
      judgeDefect(outcome);
      if (outcome instanceof LoadError) {
        const { kind, message } = outcome;
        const isOwn = outcome === facts.error && facts.failedAtMs === now();
        expectTruthOfRefresh(
          isOwn || life.state !== 'running',
          () => `${message}, which its load did not say`,
        );
        const isAccepted = (kind === 'shrunk' || kind === 'drifted') && accept.includes(kind);
        expectTruthOfRefresh(!isAccepted, () => `${kind}, which was accepted`);
        return;
      }
      const { renewal, origin } = facts;
      // Where another replica's newer list has overtaken the answer, that one counts; with a forged time, any may.
      const newestMs = Math.max(renewal?.askedAtMs ?? -1, (origin?.deliveredAtMs ?? -1) + TOLERANCE_MS);
      const isNew = newestMs >= waiting.sinceMs || !facts.isGenuine;
      expect(isNew, 'a refresh asks anew', 'nothing was taken since');
      const isAccepted = accept.length === 0 || (facts.held?.acceptedAtMs ?? 0) > acceptedAtMs;
      expectTruthOfRefresh(isAccepted, 'nothing was accepted');
    };
    life.core.list.refresh(accept).then(judge, judge);
  };

  /** A browser asks for the list. */
  const request = (life: Life): void => {
    const { facts } = life;
    const { list } = life.core;
    if (list.served()) return;
    const waiting = begin(facts.arrivals);
    const isShared = isOpen(facts.call);
    const judge = (outcome: unknown): void => {
      facts.arrivals.delete(waiting);
      judgeDefect(outcome);
      if (!(outcome instanceof LoadError)) {
        expect(list.served() !== undefined, 'a first request is answered', 'without a list');
        return;
      }
      const waitedMs = now() - waiting.sinceMs;
      const isOver = outcome.kind === 'timeout' && waitedMs >= timeoutMs - 2;
      const isStopping = life.state !== 'running';
      expectTruth(
        isOver || (outcome === facts.error && facts.attempts > 0) || isStopping,
        () => `${outcome.message}, after ${waitedMs} ms`,
      );
      // It shares the load under way.
      expectTruth(
        !isShared || waitedMs >= timeoutMs - 2 || facts.failedAtMs >= waiting.sinceMs || isStopping,
        'the failure of an earlier load',
      );
      // Another replica's load, and its own, may take so long.
      const isWell = provider.healthySinceMs() < waiting.sinceMs - timeoutMs && redisIsCalm(2 * timeoutMs);
      expectTruth(
        !isOver || !isWell || outcome === facts.error || (timeoutMs < 5 * SECOND && setup.hasRedis),
        'no answer in time, though all is well',
      );
    };
    list.arrival().then(() => judge(undefined), judge);
  };
  const redisIsCalm = (ms: number): boolean => !setup.hasRedis || redis.calmForMs() > ms;

  /** @param boundMs the longest time, but for a stop */
  const judgeTime = (life: Life, promised: Promised, { sinceMs }: Waiting, boundMs: number): void => {
    const stoppingMs = Math.max(life.stateSinceMs - sinceMs, 0) + ENCODING_MS + 2 * STORE_MS;
    const waitedMs = now() - sinceMs;
    const leftMs = (life.state === 'running' ? boundMs : stoppingMs) - waitedMs;
    expect(leftMs >= 0 || leftMs + life.lateMs(sinceMs) >= 0, promised, () => `not after ${waitedMs} ms`);
  };
  const judgeTimes = (life: Life): void => {
    for (const one of life.facts.refreshes) {
      const boundMs = (2 + one.others) * (timeoutMs + ENCODING_MS + 2 * STORE_MS) + SECOND;
      judgeTime(life, 'a refresh is answered', one, boundMs);
    }
    for (const one of life.facts.arrivals)
      judgeTime(life, 'a first request is answered', one, timeoutMs + ENCODING_MS + 10);
  };

  return { refresh, request, judgeTimes };
};
