import { expect, test } from '@jest/globals';
import { createDurations, toExposition } from '../../src/telemetry/exposition.ts';

test('a duration of exactly a bound is in its bucket, a longer one in the next, and each series has its own', () => {
  const durations = createDurations({
    help: 'h',
    labels: ['a', 'b'],
    bounds: [0.005, 1],
    series: [['0', '0']],
  });
  for (const durationMs of [0, 5, 5.001, 1_000, 1_001]) durations.observe(['1', '2'], durationMs);
  durations.observe(['2', '1'], 1);
  const lines = toExposition('d', durations.type, durations.help, durations.samples()).split('\n');
  expect(lines.slice(-11)).toEqual([
    'd_count{a="0",b="0"} 0',
    'd_bucket{le="0.005",a="1",b="2"} 2',
    'd_bucket{le="1",a="1",b="2"} 4',
    'd_bucket{le="+Inf",a="1",b="2"} 5',
    'd_sum{a="1",b="2"} 2.011001',
    'd_count{a="1",b="2"} 5',
    'd_bucket{le="0.005",a="2",b="1"} 1',
    'd_bucket{le="1",a="2",b="1"} 1',
    'd_bucket{le="+Inf",a="2",b="1"} 1',
    'd_sum{a="2",b="1"} 0.001',
    'd_count{a="2",b="1"} 1',
  ]);
});
