import { expect, test } from '@jest/globals';
import { LoadError } from '../../src/banks/load-error.ts';
import { createHistory, HISTORY_MINUTES } from '../../src/telemetry/history.ts';
import { createManualClock } from '../kit/manual-clock.ts';
import { readBanks } from '../kit/read-banks.ts';

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
  let sentAtMs: number | undefined;
  const ageMs = (): number | undefined =>
    sentAtMs === undefined ? undefined : clock.monotonicMs() - sentAtMs;
  const history = createHistory(clock, ageMs);
  return {
    clock,
    history,
    ages: () => history.minutes().map(({ oldestAgeMs }) => oldestAgeMs),
    /** A list arrives that is `oldMs` old already. */
    restore: async (oldMs: number): Promise<void> => {
      sentAtMs = clock.monotonicMs() - oldMs;
      const none = { encoding: 'identity', body: Buffer.alloc(0), etag: '' } as const;
      const list = {
        ...(await readBanks([])),
        receivedAtMs: 0,
        changedAtMs: 0,
        sentAtMs,
        countedFromMs: sentAtMs,
        representations: { identity: none, gzip: none, br: none },
      };
      history.onEvent({ type: 'list-restored', list, previous: undefined, state: 'stale' });
    },
  };
};

test('the age grows through minutes in which nothing happens, and a minute keeps its oldest moment', async () => {
  const { clock, restore, ages } = setUp();
  await restore(30_000);
  clock.skip(2.5 * MINUTE_MS);
  await restore(0);
  expect(ages()).toEqual([90_000, 150_000, 180_000]);
});

test('failures, requests and calls are counted in their minute, and there is no age before the first list', () => {
  const { clock, history } = setUp();
  const error = new LoadError('timeout', '');
  history.onEvent({ type: 'list-load-failed', error, state: 'stale', durationMs: 1 });
  history.onEvent({ ...REQUEST, status: 200 });
  clock.skip(MINUTE_MS);
  history.onEvent({ ...REQUEST, status: 404 });
  history.onEvent({ ...REQUEST, status: 503 });
  for (const durationMs of [5, 7, 6])
    history.onEvent({ type: 'provider-called', answer: undefined, durationMs });
  const quiet = { oldestAgeMs: undefined, renewed: 0 };
  expect(history.minutes()).toEqual([
    { ...quiet, failed: 1, requests: 1, failedRequests: 0, slowestCallMs: undefined },
    { ...quiet, failed: 0, requests: 2, failedRequests: 1, slowestCallMs: 7 },
  ]);
});

test('only the last six hours are kept, and the age of a list from before them is still known', async () => {
  const { clock, history, restore, ages } = setUp();
  await restore(0);
  for (let minute = 0; minute < 3 * HISTORY_MINUTES; minute += 1) {
    clock.skip(MINUTE_MS);
    history.onEvent({ ...REQUEST, status: 200 });
  }
  const minutes = history.minutes();
  expect(minutes).toHaveLength(HISTORY_MINUTES);
  expect(minutes.reduce((sum, { requests }) => sum + requests, 0)).toBe(HISTORY_MINUTES);
  expect(minutes.at(-1)?.oldestAgeMs).toBe(3 * HISTORY_MINUTES * MINUTE_MS);

  // Nothing at all happens.
  clock.skip((HISTORY_MINUTES + 9) * MINUTE_MS);
  const longest = (4 * HISTORY_MINUTES + 9) * MINUTE_MS;
  const expected = Array.from({ length: HISTORY_MINUTES }, (_, index) =>
    Math.min(longest, longest - (HISTORY_MINUTES - 2 - index) * MINUTE_MS),
  );
  expect(ages()).toEqual(expected);
  history.onEvent({ ...REQUEST, status: 200 });
  expect(ages()).toEqual(expected);
});
