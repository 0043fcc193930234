import { expect, test } from '@jest/globals';
import { LoadError } from '../../../src/banks/load-error.ts';
import { createFailureRecord } from '../../../src/banks/loading/failures.ts';
import { createManualClock } from '../../kit/manual-clock.ts';

const down = new LoadError('unreachable', 'no connection');
const slow = new LoadError('timeout', 'no answer');

test('failures are counted from the first one, and a success ends the count but not the memory of the last one', () => {
  const clock = createManualClock();
  const failures = createFailureRecord(clock);
  expect(failures.current()).toEqual({ failure: undefined, failing: undefined, lastFailure: undefined });

  const firstMs = clock.wallMs();
  failures.add(down);
  expect(failures.current()).toEqual({
    failure: down,
    failing: { sinceMs: firstMs, attempts: 1 },
    lastFailure: { kind: 'unreachable', atMs: firstMs },
  });

  clock.advance(1_000);
  failures.add(slow);
  expect(failures.current()).toEqual({
    failure: slow,
    failing: { sinceMs: firstMs, attempts: 2 },
    lastFailure: { kind: 'timeout', atMs: firstMs + 1_000 },
  });

  failures.clear();
  expect(failures.current()).toEqual({
    failure: undefined,
    failing: undefined,
    lastFailure: { kind: 'timeout', atMs: firstMs + 1_000 },
  });
});

test('after a long outage the next failure is the first one again', () => {
  const clock = createManualClock();
  const failures = createFailureRecord(clock);
  for (let attempt = 0; attempt < 50; attempt += 1) failures.add(down);
  failures.clear();
  clock.advance(5_000);
  failures.add(slow);
  expect(failures.current().failing).toEqual({ sinceMs: clock.wallMs(), attempts: 1 });
});
