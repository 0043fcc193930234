import { expect, test } from '@jest/globals';
import { LoadError } from '../../src/banks/load-error.ts';
import type { ServiceEvent } from '../../src/telemetry/events.ts';
import { createEventLog, createLogger } from '../../src/telemetry/log.ts';

// One line for each change, none for its repetitions, and the same again in the next outage.

const messagesOf = (events: readonly ServiceEvent[]): string[] => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  const log = createEventLog(logger, { fieldsAreChosen: true });
  for (const event of events) log(event);
  return lines.map((line) => /"msg":"([^"]*)"/.exec(line)?.[1] ?? line);
};

test('an outage of the token endpoint', () => {
  const error = new LoadError('unavailable', 'the token endpoint: it fails (500)');
  const failed: ServiceEvent = { type: 'token-renewal-failed', error, validForMs: 1 };
  const renewed: ServiceEvent = { type: 'token-renewed' };
  const end: ServiceEvent = { ...failed, validForMs: 0 };
  expect(messagesOf([renewed, failed, failed, end, end, renewed, renewed, failed, renewed])).toEqual([
    'token: renewal failed: the token endpoint: it fails (500); the current token stays in use',
    'token: renewal failed: the token endpoint: it fails (500); there is no valid token',
    'token: recovered',
    'token: renewal failed: the token endpoint: it fails (500); the current token stays in use',
    'token: recovered',
  ]);
});

test('an outage of a store, beside another one', () => {
  const redis = { store: 'CACHE_REDIS_URL' } as const;
  const failed: ServiceEvent = { type: 'store-failed', ...redis, reason: 'is full' };
  const recovered: ServiceEvent = { type: 'store-recovered', ...redis };
  const file: ServiceEvent = { ...failed, store: 'CACHE_SNAPSHOT_FILE' };
  expect(messagesOf([recovered, failed, failed, file, recovered, recovered, failed, file])).toEqual([
    'CACHE_REDIS_URL: is full',
    'CACHE_SNAPSHOT_FILE: is full',
    'CACHE_REDIS_URL: works again',
    'CACHE_REDIS_URL: is full',
  ]);
});
