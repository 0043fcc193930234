import { expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { nextLoad, startLoadedRig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';

// How two log platforms classify the lines of a service that starts, refuses, fails and recovers.
// Both rules are those that the platforms document.

/** Cloud Logging takes `severity` if it is one of these names (LogEntry, LogSeverity). */
const LOG_SEVERITIES = new Set([
  'DEBUG',
  'INFO',
  'NOTICE',
  'WARNING',
  'ERROR',
  'CRITICAL',
  'ALERT',
  'EMERGENCY',
]);

const cloudLogging = ({ severity }: Line): string =>
  typeof severity === 'string' && LOG_SEVERITIES.has(severity) ? severity.toLowerCase() : 'default';

/**
 * Datadog takes the first of these attributes that a line has, and reads a word by its first
 * letters.
 */
const datadog = (line: Line): string => {
  const value = line['status'] ?? line['severity'] ?? line['level'];
  if (typeof value === 'number') return SYSLOG[value] ?? 'info';
  const [, found = 'info'] = DATADOG_WORDS.find(([start]) => start.test(String(value))) ?? [];
  return found;
};
const SYSLOG = ['emergency', 'alert', 'critical', 'error', 'warning', 'notice', 'info', 'debug'];
const DATADOG_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^(?:emerg|f)/i, 'emergency'],
  [/^a/i, 'alert'],
  [/^c/i, 'critical'],
  [/^err/i, 'error'],
  [/^w/i, 'warning'],
  [/^n/i, 'notice'],
  [/^[dtv]/i, 'debug'],
  [/^[os]/i, 'ok'],
];

type Line = Readonly<Record<string, unknown>>;

const PINO: Readonly<Record<number, string>> = {
  20: 'debug',
  30: 'info',
  40: 'warning',
  50: 'error',
};

test('Cloud Logging and Datadog read every line at the level that it was written at', async () => {
  const rig = await startLoadedRig({
    env: { LOG_LEVEL: 'debug', CACHE_MAX_STALE: '1m', HOT_PATH: 'on' },
  });
  const get = async (path: string): Promise<number> => (await fetch(`${rig.url}${path}`)).status;
  // The hot path, Express, a probe, and a request that Node's parser refuses.
  expect([await get('/banks'), await get('/nowhere'), await get('/healthz')]).toEqual([
    200, 404, 200,
  ]);
  connect(Number(new URL(rig.url).port))
    .end('no HTTP\r\n\r\n')
    .resume();
  await rig.emulator.behave('unavailable');
  await nextLoad(rig);
  rig.clock.advance(2 * 3_600_000);
  expect(await get('/banks')).toBe(503);
  await eventually(
    () => rig.log().includes('"request refused"') && rig.log().includes('"level":50'),
  );

  const lines = rig
    .log()
    .trimEnd()
    .split('\n')
    .map((line): Line => JSON.parse(line));
  for (const line of lines) {
    const written = PINO[Number(line['level'])];
    expect({ line, cloudLogging: cloudLogging(line), datadog: datadog(line) }).toEqual({
      line,
      cloudLogging: written,
      datadog: written,
    });
  }
  expect(new Set(lines.map(({ level }) => level))).toEqual(new Set([20, 30, 40, 50]));
});
