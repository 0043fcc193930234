import { NOTHING_REJECTED } from '../../src/banks/reading/entry.ts';
import { expect, test } from '@jest/globals';
import { LoadError } from '../../src/banks/load-error.ts';
import { createHistory, HISTORY_MINUTES } from '../../src/telemetry/history.ts';
import { createManualClock } from '../kit/manual-clock.ts';

// What the status page's drawings are made of: minutes, a bounded number of them.

const MINUTE_MS = 60_000;
const REQUEST = {
  type: 'request-finished',
  answeredBy: 'hot_path',
  route: '/banks',
  method: 'GET',
  durationMs: 1,
  bytes: 1,
  aborted: false,
  listState: 'fresh',
  waited: false,
  isRefusedOrigin: false,
} as const;

const setUp = () => {
  const clock = createManualClock();
  let receivedAtMs: number | undefined;
  const ageMs = (): number | undefined =>
    receivedAtMs === undefined ? undefined : clock.monotonicMs() - receivedAtMs;
  const history = createHistory({ clock, ageMs });
  return {
    clock,
    history,
    fail: () =>
      history.onEvent({
        type: 'list-load-failed',
        error: new LoadError('timeout', ''),
        state: 'stale',
        durationMs: 1,
      }),
    /** A list arrives that is `oldMs` old already. */
    restore: (oldMs: number) => {
      receivedAtMs = clock.monotonicMs() - oldMs;
      const list = {
        json: Buffer.from('[]'),
        entryDigests: new Float64Array(),
        rejected: NOTHING_REJECTED,
        profile: new Map(),
        absentFields: [],
        upstreamFields: [],
        validators: undefined,
        count: 0,
        receivedAtMs: 0,
        changedAtMs: 0,
        sentAtMs: 0,
        countedFromMs: 0,
      };
      const none = { encoding: 'identity', body: Buffer.alloc(0), etag: '' } as const;
      const representations = { identity: none, gzip: none, br: none };
      history.onEvent({
        type: 'list-restored',
        list: { ...list, representations },
        previous: undefined,
        state: 'stale',
      });
    },
  };
};

test('the age grows through minutes in which nothing happens, and a minute keeps its oldest moment', () => {
  const { clock, history, restore } = setUp();
  restore(30_000);
  clock.skip(2.5 * MINUTE_MS);
  restore(0);
  expect(history.minutes().map(({ oldestAgeMs }) => oldestAgeMs)).toEqual([90_000, 150_000, 180_000]);
});

test('there is no age before the first list', () => {
  const { clock, history, fail } = setUp();
  fail();
  clock.skip(MINUTE_MS);
  expect(history.minutes()).toMatchObject([
    { oldestAgeMs: undefined, failed: 1, lastFailure: 'timeout' },
    { oldestAgeMs: undefined, failed: 0, lastFailure: undefined },
  ]);
});

test('requests are counted in their minute, those that failed too', () => {
  const { clock, history } = setUp();
  history.onEvent({ ...REQUEST, status: 200 });
  clock.skip(MINUTE_MS);
  history.onEvent({ ...REQUEST, status: 404 });
  history.onEvent({ ...REQUEST, status: 503 });
  expect(history.minutes()).toMatchObject([
    { requests: 1, failedRequests: 0 },
    { requests: 2, failedRequests: 1 },
  ]);
});

test('only the last six hours are kept, and the age of a list from before them is still known', () => {
  const { clock, history, restore } = setUp();
  restore(0);
  for (let minute = 0; minute < 3 * HISTORY_MINUTES; minute += 1) {
    clock.skip(MINUTE_MS);
    history.onEvent({ ...REQUEST, status: 200 });
  }
  const minutes = history.minutes();
  expect(minutes).toHaveLength(HISTORY_MINUTES);
  expect(minutes.reduce((sum, { requests }) => sum + requests, 0)).toBe(HISTORY_MINUTES);
  expect(minutes.at(-1)?.oldestAgeMs).toBe(3 * HISTORY_MINUTES * MINUTE_MS);
});

test('the age is known through more than six hours in which nothing happens', () => {
  const { clock, history, restore } = setUp();
  restore(0);
  clock.skip((HISTORY_MINUTES + 9) * MINUTE_MS);
  const oldest = (): (number | undefined)[] => history.minutes().map(({ oldestAgeMs }) => oldestAgeMs);
  const expected = Array.from(
    { length: HISTORY_MINUTES },
    (_, index) => Math.min(index + 11, HISTORY_MINUTES + 9) * MINUTE_MS,
  );
  expect(oldest()).toEqual(expected);
  history.onEvent({ ...REQUEST, status: 200 });
  expect(oldest()).toEqual(expected);
});
