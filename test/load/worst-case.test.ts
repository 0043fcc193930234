import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';

// Some places of the table: those of patterns and lists. `npm run worstcase` takes them all.

test('no text costs more than three times a plain one of its length, where one could', () => {
  const places = [
    'if-none-match',
    'accept-encoding',
    'x-forwarded-for',
    'absolute target',
    'management port: origin',
    "the provider's list",
    "the provider's link",
    "the token endpoint's grant",
    'a saved list: its metadata',
    'redis: the head',
    'redis: the lease',
    'trust_proxy',
    '.env',
  ];
  const options = places.flatMap((place) => ['--only', place]);
  const { status, stdout } = spawnSync(
    process.execPath,
    ['dist/tools/worst-case/main.js', ...options],
    { encoding: 'utf8', timeout: 280_000 },
  );
  // Where a limit is exceeded, the table says so.
  expect([stdout, status]).toEqual([expect.not.stringContaining('Beyond'), 0]);
  for (const place of [...places, 'if-none-match, hot path', 'accept-encoding, hot path'])
    expect(stdout.toLowerCase()).toContain(`| ${place} `);
});
