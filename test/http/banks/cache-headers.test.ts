import { expect, test } from '@jest/globals';
import type { EnvironmentVariables } from '../../../src/config/variables.ts';
import { startLoadedRig } from '../../helpers/rig.ts';

const DAY = 86_400;

test.each<[what: string, EnvironmentVariables, ageMs: number, maxAge: number, number, number]>([
  ['a new list may be kept for BROWSER_MAX_AGE', {}, 0, 300, 300, DAY],
  ['near the expiry for what is left, rounded down', {}, 3_540_001, 59, 300, DAY],
  ['at the expiry for no time', {}, 3_600_000, 0, 300, DAY],
  ['fractions of a second are not promised', {}, 3_300_000.1, 299, 300, DAY],
  ['a stale list for no time, and stale-if-error gets less', {}, 3_601_000, 0, 300, DAY - 1],
  ['and so does stale-while-revalidate', {}, 89_990_500, 0, 9, 9],
  ['at the end nothing is left', {}, 90_000_000, 0, 0, 0],
  ['the TTL where that is shorter', { CACHE_TTL: '10s' }, 0, 10, 10, DAY],
])('Cache-Control: %s', async (_what, env, ageMs, maxAge, whileRevalidate, ifError) => {
  const { url, clock } = await startLoadedRig({ env: { CACHE_MAX_STALE: '1d', ...env } });
  clock.skip(ageMs);
  const { headers } = await fetch(`${url}/banks`);
  expect(headers.get('cache-control')).toBe(
    `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`,
  );
});
