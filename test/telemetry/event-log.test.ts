import { expect, test } from '@jest/globals';
import type { CachedList, Decision } from '../../src/banks/cached-list.ts';
import type { Freshness } from '../../src/banks/freshness.ts';
import type { LargeChange } from '../../src/banks/list-change.ts';
import { LoadError } from '../../src/banks/load-error.ts';
import { monotonic, wall } from '../../src/clock.ts';
import { createEventLog, createLogger, type EventLog } from '../../src/telemetry/log.ts';
import type { PublishableField } from '../../src/banks/reading/upstream-fields.ts';
import { makeBanks } from '../helpers/banks.ts';
import { cachedListOf } from '../helpers/cached-list.ts';
import { readBanks } from '../helpers/read-banks.ts';

// Which events make a line, and what is in it: a change of state makes one, what only lasts none.

type LoggedEvent = Parameters<EventLog>[0];

/** The lines that these events make: severity, message, and facts but the time. */
const linesOf = (events: readonly LoggedEvent[], fieldsAreChosen = true): string[] => {
  const lines: string[] = [];
  const write = (line: string): void => {
    const { level: _, time: __, severity, msg, err, ...facts } = JSON.parse(line);
    const more = { ...facts, ...(err && { err: err.message }) };
    lines.push(`${severity} ${msg} ${JSON.stringify(more)}`);
  };
  const log = createEventLog(createLogger('info', { write }), fieldsAreChosen);
  for (const event of events) log(event);
  return lines;
};

const renewed = (
  list: CachedList,
  previous?: CachedList,
  publishableFields: readonly PublishableField[] = [],
): LoggedEvent => ({
  type: 'list-renewed',
  loaded: { objectFields: new Map(), publishableFields },
  outcome: 'changed',
  durationMs: 7,
  list,
  previous,
});
const restored = (state: Freshness, list: CachedList, previous?: CachedList): LoggedEvent => ({
  type: 'list-restored',
  state,
  list,
  previous,
});
const failed = (state: Freshness, error: LoadError): LoggedEvent => ({
  type: 'list-load-failed',
  durationMs: 7,
  state,
  error,
});
const aged = (state: Freshness): LoggedEvent => ({ type: 'list-aged', state });
const unavailable = new LoadError('unavailable', 'no');
const drifted = (field: string): LoadError => new LoadError('drifted', 'no', { fields: [field] });
const change = (...names: readonly string[]): LargeChange => ({
  added: 1,
  removed: 1,
  atMs: 0,
  changedValues: new Map(names.map((name) => [name, 1])),
});
const decision = (id: string): Decision => ({
  id,
  madeAtMs: monotonic(0),
  madeAtWallMs: wall(0),
  reasons: ['shrunk'],
  requestId: `request ${id}`,
});

const one = await cachedListOf(makeBanks(1));
const two = await cachedListOf(makeBanks(2));
const reordered = await cachedListOf(makeBanks(2).toReversed());
const incomplete = { ...two, hasNextPage: true };

const FIRST = 'INFO list: initial load succeeded {"count":2,"durationMs":7}';
const STALE = (count: number): string =>
  `INFO list: restored the saved list; the stale list is served {"count":${count},"receivedAt":"2026-01-01T00:16:40.000Z"}`;
const FAILS = (state: string, end: string, more = ''): string =>
  `WARNING list: load failed: no; ${end} {"kind":"unavailable","state":"${state}"${more}}`;
const FAILS_FRESH = FAILS('fresh', 'the cached list is still fresh');
const FAILS_STALE = FAILS('stale', 'the stale list is served');
const FAILS_EMPTY = FAILS('empty', 'there is no list to serve');
const BECAME_STALE =
  'WARNING list: not renewed in time; the stale list is served {"state":"stale"}';

const ROWS: Readonly<Record<string, readonly [readonly LoggedEvent[], readonly string[]]>> = {
  'a store that fails again makes one line until it works again': [
    [
      { type: 'store-failed', store: 'CACHE_REDIS_URL', reason: 'is away' },
      { type: 'store-failed', store: 'CACHE_REDIS_URL', reason: 'is full' },
      { type: 'store-recovered', store: 'CACHE_REDIS_URL' },
      { type: 'store-failed', store: 'CACHE_REDIS_URL', reason: 'is full' },
    ],
    [
      'WARNING CACHE_REDIS_URL: is away {"store":"CACHE_REDIS_URL"}',
      'INFO CACHE_REDIS_URL: works again {"store":"CACHE_REDIS_URL"}',
      'WARNING CACHE_REDIS_URL: is full {"store":"CACHE_REDIS_URL"}',
    ],
  ],
  'a stale list that replaces another one is told as restored': [
    [restored('stale', two, one)],
    [STALE(2)],
  ],
  'a restored list that is incomplete is told to be so': [
    [restored('stale', incomplete)],
    [
      STALE(2),
      'WARNING list: probably incomplete: the response links to a next page, which is not loaded {"count":2}',
    ],
  ],
  'a restored list that is stale ends no failure': [
    [failed('empty', unavailable), restored('stale', two), failed('stale', unavailable)],
    [FAILS_EMPTY, STALE(2)],
  ],
  'a failure that lasts makes a line for each state of the list': [
    [
      renewed(two),
      failed('fresh', unavailable),
      failed('fresh', unavailable),
      failed('stale', unavailable),
    ],
    [FIRST, FAILS_FRESH, FAILS_STALE],
  ],
  'a list that ages during a failure makes one line, and the failure that lasts none': [
    [
      renewed(two),
      failed('fresh', unavailable),
      aged('stale'),
      aged('stale'),
      failed('stale', unavailable),
    ],
    [FIRST, FAILS_FRESH, BECAME_STALE],
  ],
  'another field that is wrong is another failure': [
    [
      failed('empty', drifted('name')),
      failed('empty', drifted('name')),
      failed('empty', drifted('code')),
    ],
    ['name', 'code'].map(
      (field) =>
        `WARNING list: load failed: no; there is no list to serve {"kind":"drifted","state":"empty","fields":["${field}"]}`,
    ),
  ],
  'an unexpected error is in its line': [
    [failed('empty', LoadError.from(new Error('a fault of ours')))],
    [
      'WARNING list: load failed: unexpected error while loading; there is no list to serve {"kind":"internal","state":"empty","err":"a fault of ours"}',
    ],
  ],
  'what caused another failure is not': [
    [failed('empty', new LoadError('unavailable', 'no', { cause: new Error('an address') }))],
    [FAILS_EMPTY],
  ],
  'a list that ends the time of a stale one is told as renewed': [
    [restored('stale', two), renewed(two, two)],
    [STALE(2), 'INFO list: renewed {"count":2,"durationMs":7}'],
  ],
  'entries that are gone are told, where none is new': [
    [renewed(two), renewed(one, two)],
    [FIRST, 'INFO list: changed {"added":0,"removed":1,"count":1}'],
  ],
  'another order of the same entries is a change': [
    [renewed(two), renewed(reordered, two)],
    [FIRST, 'INFO list: changed {"added":0,"removed":0,"count":2}'],
  ],
  'a large change is told once, with its fields that have plain names': [
    [
      renewed(two),
      renewed({ ...one, largeChange: change('name', 'a name') }, two),
      renewed({ ...two, largeChange: change('code') }, one),
    ],
    [
      FIRST,
      'WARNING list: changed by more than GUARD_MAX_SHRINK {"added":0,"removed":1,"count":1,"changedValues":{"name":1}}',
      'WARNING list: changed by more than GUARD_MAX_SHRINK {"added":1,"removed":0,"count":2,"changedValues":{"code":1}}',
    ],
  ],
  'an operator’s decision is told once, by every replica, and so is the next one': [
    [
      renewed(two),
      restored('fresh', { ...two, decisions: [decision('A')] }, two),
      renewed({ ...two, decisions: [decision('A')] }, { ...two, decisions: [decision('A')] }),
      restored(
        'stale',
        { ...one, decisions: [decision('B'), decision('A')] },
        { ...two, decisions: [decision('A')] },
      ),
    ],
    [
      FIRST,
      'WARNING list: accepted by an operator {"reasons":["shrunk"],"requestId":"request A","added":0,"removed":0,"count":2}',
      'WARNING list: accepted by an operator {"reasons":["shrunk"],"requestId":"request B","added":0,"removed":1,"count":1}',
      STALE(1),
    ],
  ],
  'a list that stays incomplete makes one line, and one when it is complete': [
    [renewed(incomplete), renewed(incomplete, incomplete), renewed(two, incomplete)],
    [
      FIRST,
      'WARNING list: probably incomplete: the response links to a next page, which is not loaded {"count":2}',
      'INFO list: no longer incomplete {"count":2}',
    ],
  ],
};

test.each(Object.entries(ROWS))('%s', (_sentence, [events, lines]) => {
  expect(linesOf(events)).toEqual(lines);
});

test('a large change stays in the list, and is told of the first one only', () => {
  const largeChange = change('name');
  const changed = { ...two, largeChange };
  const lines = linesOf([renewed(changed, one), renewed({ ...one, largeChange }, changed)]);
  expect(lines.slice(1)).toEqual([
    expect.stringContaining('list: changed by more than GUARD_MAX_SHRINK'),
    'INFO list: changed {"added":0,"removed":1,"count":1}',
  ]);
});

test('a value of BANK_FIELDS is suggested once, as soon as the fields are known', async () => {
  const { publishableFields } = await readBanks(makeBanks(2));
  const load = renewed(two, two, publishableFields);
  const events = [renewed(two), load, load];
  expect(linesOf(events, false)).toEqual([
    FIRST,
    'WARNING list: every field of the provider is published; to choose some, set BANK_FIELDS=code,ispb,name {}',
  ]);
  expect(linesOf(events)).toEqual([FIRST]);
});
