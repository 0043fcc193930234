import { LoadError } from '../../src/banks/load-error.ts';
import { lateMs, type Life, type Outcome } from '../replica.ts';
import { ENCODING_MS, isOpen, SECOND, STORE_MS, TOLERANCE_MS, type Court, type Waiting } from './facts.ts';

// Judges the answers to operators (`POST /refresh`) and to requests that find no list.

export const createRequestJudge = (court: Court) => {
  const { setup, nowMs: now, expect, factsOf } = court;
  const expectTruth = court.expectOf('a first request tells the truth');
  const expectTruthOfRefresh = court.expectOf('a refresh tells the truth');
  const { timeoutMs } = setup;

  const begin = (waits: Set<Waiting>): Waiting => {
    const waiting: Waiting = { sinceMs: now(), others: waits.size };
    for (const other of waits) other.others += 1;
    waits.add(waiting);
    return waiting;
  };

  const judgeDefect = (outcome: Outcome): void =>
    expect(outcome !== 'not a load error' && outcome?.kind !== 'internal', 'no defect', () =>
      outcome instanceof LoadError ? outcome.message : String(outcome),
    );

  const refresh = (life: Life, accept: readonly ('shrunk' | 'drifted')[]): ((outcome: Outcome) => void) => {
    const facts = factsOf(life);
    const waiting = begin(facts.refreshes);
    const acceptedAtMs = facts.held?.acceptedAtMs ?? 0;
    return (outcome) => {
      facts.refreshes.delete(waiting);
      facts.refreshedAtMs = now();
      judgeDefect(outcome);
      if (outcome instanceof LoadError) {
        const isOwn = outcome === facts.error && facts.failedAtMs === now();
        expectTruthOfRefresh(
          isOwn || life.state !== 'running',
          () => `${outcome.message}, which its load did not say`,
        );
        const { kind } = outcome;
        expectTruthOfRefresh(
          (kind !== 'shrunk' && kind !== 'drifted') || !accept.includes(kind),
          () => `${kind}, which was accepted`,
        );
        return;
      }
      if (outcome !== undefined) return;
      const { renewal, origin } = facts;
      // Where another replica's newer list has overtaken the answer, that one counts; with a forged time, any may.
      const newestMs = Math.max(renewal?.askedAtMs ?? -1, (origin?.deliveredAtMs ?? -1) + TOLERANCE_MS);
      expect(
        newestMs >= waiting.sinceMs || !facts.isGenuine,
        'a refresh asks anew',
        'nothing was taken since',
      );
      expectTruthOfRefresh(
        accept.length === 0 || (facts.held?.acceptedAtMs ?? 0) > acceptedAtMs,
        'nothing was accepted',
      );
    };
  };

  const request = (life: Life): ((outcome: Outcome) => void) => {
    const facts = factsOf(life);
    const waiting = begin(facts.arrivals);
    const isShared = isOpen(facts.call);
    return (outcome) => {
      facts.arrivals.delete(waiting);
      judgeDefect(outcome);
      if (!(outcome instanceof LoadError)) {
        expect(
          outcome !== undefined || life.core.list.served() !== undefined,
          'a first request is answered',
          'without a list',
        );
        return;
      }
      const waitedMs = now() - waiting.sinceMs;
      const isOver = outcome.kind === 'timeout' && waitedMs >= timeoutMs - 2;
      expectTruth(
        isOver || (outcome === facts.error && facts.failing) || life.state !== 'running',
        () => `${outcome.message}, after ${waitedMs} ms`,
      );
      // It shares the load under way.
      expectTruth(
        !isShared ||
          waitedMs >= timeoutMs - 2 ||
          facts.failedAtMs >= waiting.sinceMs ||
          life.state !== 'running',
        'the failure of an earlier load',
      );
      // Another replica's load, and its own, may take so long.
      const isWell = court.healthySinceMs < waiting.sinceMs - timeoutMs && redisIsCalm(2 * timeoutMs);
      expectTruth(
        !isOver || !isWell || outcome === facts.error || (timeoutMs < 5 * SECOND && setup.hasRedis),
        'no answer in time, though all is well',
      );
    };
  };
  const redisIsCalm = (ms: number): boolean => !setup.hasRedis || court.redis().calmForMs() > ms;

  const judgeTimes = (life: Life): void => {
    const facts = factsOf(life);
    for (const [kind, waits] of [
      ['refresh', facts.refreshes],
      ['request', facts.arrivals],
    ] as const)
      for (const { sinceMs, others } of waits) {
        const isStopping = life.state !== 'running';
        const fullMs =
          kind === 'request'
            ? timeoutMs + ENCODING_MS + 10
            : (2 + others) * (timeoutMs + ENCODING_MS + 2 * STORE_MS) + SECOND;
        const boundMs = isStopping
          ? Math.max(life.stateSinceMs - sinceMs, 0) + ENCODING_MS + 2 * STORE_MS
          : fullMs;
        const waitedMs = now() - sinceMs;
        if (waitedMs <= boundMs) continue;
        expect(
          waitedMs <= boundMs + lateMs(life, sinceMs),
          kind === 'refresh' ? 'a refresh is answered' : 'a first request is answered',
          () => `not after ${waitedMs} ms${isStopping ? ', stopping' : ''}`,
        );
      }
  };

  return { refresh, request, judgeTimes };
};
