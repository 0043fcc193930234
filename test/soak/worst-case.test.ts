import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';

test('no head costs more than three times a plain one of its length, where one once did', () => {
  const places = ['if-none-match', 'accept-encoding', 'if-modified-since'];
  const options = places.flatMap((place) => ['--only', place]);
  // It fails, with the table, where a limit is exceeded.
  const table = execFileSync(process.execPath, ['dist/tools/worst-case/main.js', ...options], {
    encoding: 'utf8',
    timeout: 280_000,
  });
  for (const place of places) expect(table.toLowerCase()).toContain(`| ${place} `);
});
