import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';

// No request head costs more than three times the CPU of a plain one of its length: those that once did.

test.each(['if-none-match', 'accept-encoding', 'x-forwarded-for', 'if-modified-since', 'content-type'])(
  'no text costs more than the limits at places called %s',
  (place) => {
    // It fails, with the table, where a limit is exceeded.
    const table = execFileSync(process.execPath, ['dist/tools/worst-case/main.js', '--only', place], {
      encoding: 'utf8',
      timeout: 280_000,
    });
    expect(table).toMatch(/^\| place \|.*/);
  },
);
