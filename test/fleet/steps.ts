import { expect } from '@jest/globals';
import type { BankList } from '../../src/banks/bank-list.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import { createStage, type Replica, type ReplicaOptions, type Stage } from './replica.ts';

// What the tests of the loop have in common. The jitter is always 0.5, so that a list is renewed
// 56.7 s after it was asked for, and the first retries come after 1.25, 2, 3.5, 6.5 and 12.5 s; in a
// fleet whoever failed waits a second longer.

export const DUE_MS = 56_700;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** Within these a change is on every replica. */
export const SOON_MS = 2_000;

export const outage = new LoadError('unavailable', 'the provider answers 503');
export const askedToWait = (retryAfterMs: number): LoadError =>
  new LoadError('rate_limited', 'the provider answers 429', { retryAfterMs });
/** A file of this replica, or this program, is to blame. */
export const ownFault = new LoadError('internal', 'unexpected error while loading');

/** Starts a service without Redis; its first load has ended. */
export const startAlone = async (
  stage: Stage,
  options?: Partial<ReplicaOptions>,
): Promise<Replica> => {
  const replica = stage.replica({ redis: undefined, ...options });
  await replica.start();
  await stage.pass(1);
  return replica;
};

/** Starts replicas, one after the other; the first load has ended. */
export const start = async (stage: Stage, ...replicas: readonly Replica[]): Promise<void> => {
  for (const replica of replicas) {
    await replica.start();
    await stage.pass(1);
  }
};

/** Two replicas that share a list. */
export const startTwo = async (options?: Partial<ReplicaOptions>) => {
  const stage = createStage();
  const a = stage.replica({ name: 'a', ...options });
  const b = stage.replica({ name: 'b', ...options });
  await start(stage, a, b);
  return { stage, a, b };
};

/** Calls while `ms` pass. */
export const callsIn = async (stage: Stage, ms: number): Promise<number> => {
  const before = stage.calls.length;
  await stage.pass(ms);
  return stage.calls.length - before;
};

/** What an operator's refresh comes to within a second. */
export const refresh = async (
  stage: Stage,
  { list }: Replica,
  ...accepted: Parameters<BankList['refresh']>
) => {
  const result = list.refresh(...accepted);
  await stage.pass(1_000);
  return settled(result);
};

/** The provider has asked one of two replicas to wait, and both do. */
export const untilAllWait = async (stage: Stage): Promise<void> => {
  stage.answer(askedToWait(10 * MINUTE_MS));
  await stage.pass(DUE_MS + SOON_MS);
};

/** Milliseconds from one call to the next. */
export const pausesOf = ({ calls }: Stage): number[] =>
  calls.slice(1).map(({ atMs }, index) => atMs - (calls[index]?.atMs ?? 0));

/** What a promise came to, if it is settled now. */
export const settled = async <T>(promise: Promise<T>): Promise<T | 'waits'> =>
  Promise.race([promise, new Promise<'waits'>((resolve) => setImmediate(resolve, 'waits'))]);

/** The list that this replica serves is the one in Redis. */
export const expectInRedis = ({ redis }: Stage, replica: Replica): void => {
  expect(replica.id()).not.toBe('');
  expect(redis.read('list')).toEqual([expect.stringContaining(replica.id())]);
};

const kindOf = (error: unknown): string => (error instanceof LoadError ? error.kind : 'no failure');
export const failureOf = (request: Promise<unknown>): Promise<string> =>
  request.then(() => 'a list', kindOf);

/** The name of a key of the replicas. */
export const keyOf = ({ redis }: Stage, end: 'list' | 'hold'): string =>
  redis.keys().map((key) => key.replace(/[^:]*$/, end))[0] ?? '';
