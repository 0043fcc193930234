import { describe, expect, test } from '@jest/globals';
import { createHash, createHmac } from 'node:crypto';
import type { CachedList } from '../../src/banks/cached-list.ts';
import { MAX_EARLIER_LISTS } from '../../src/banks/guard/memory.ts';
import { NOTHING_REJECTED } from '../../src/banks/reading/entry.ts';
import { represent } from '../../src/banks/representation.ts';
import { monotonic, wall } from '../../src/clock.ts';
import { createEnvelope, provenanceId } from '../../src/sharing/envelope.ts';
import { StoreError } from '../../src/sharing/store-report.ts';
import { createSigning } from '../../src/sharing/signing.ts';
import { readBanks } from '../helpers/read-banks.ts';

// The format of a saved list, byte by byte. What a service makes of a saved list is in
// snapshot-file.test.ts.

const CONTRACT = {
  fields: [
    { name: 'id', from: 'ispb' },
    { name: 'name', from: 'name' },
  ],
  requiredFields: ['id'],
  maxBytes: 10_000,
};
const PROVENANCE = 'these-settings';
const UNSIGNED = createSigning(undefined);
const MINUTE = 60_000;
const TTL_MS = 60 * MINUTE;
const envelope = createEnvelope({
  provenance: PROVENANCE,
  contract: CONTRACT,
  signing: UNSIGNED,
  ttlMs: TTL_MS,
});

const BANKS = '[{"id":"1","name":"A"},{"id":"2","name":null}]';
const RECEIVED = Date.UTC(2026, 0, 2);
const CHANGED = Date.UTC(2026, 0, 1);
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const VERSION = {
  series: 'series',
  number: 7,
  listId: 'this-list',
  former: [{ series: 'lost', number: 3 }],
  carriedFrom: { series: 'lost', number: 2 },
};
/** Written at this moment, and read a minute later by another process. */
const WRITTEN = { storeMs: RECEIVED + 5_000, nowMs: monotonic(1_000_000) };
const READ = { storeMs: WRITTEN.storeMs + MINUTE, nowMs: monotonic(77_000) };

const cachedList = async (more: Partial<CachedList> = {}): Promise<CachedList> => {
  const read = await readBanks(JSON.parse(BANKS));
  return {
    ...read,
    hasNextPage: false,
    representations: await represent(read.json),
    id: VERSION.listId,
    place: { kind: 'stored', version: VERSION },
    isUnconfirmed: false,
    requestedAtMs: monotonic(WRITTEN.nowMs - 5_400),
    loadedAtMs: monotonic(WRITTEN.nowMs - 5_000),
    isAgeUnknown: false,
    loadedAtWallMs: wall(RECEIVED),
    changedAtMs: wall(CHANGED),
    decisions: [],
    unconfirmedDecisions: [],
    earlier: [],
    ...more,
  };
};
const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');
const listWith = (times: string, banks = BANKS): string => `{${times},"banks":${banks}}`;
const TIMES = `"receivedAtMs":${RECEIVED},"changedAtMs":${CHANGED}`;
const LIST = listWith(TIMES);
const headerOf = (list: string, more: object = {}): string =>
  JSON.stringify({
    format: 'banks-bff/list',
    version: 1,
    provenance: PROVENANCE,
    checksum: digest(list),
    ...more,
  });
/** An envelope with this list and a checksum that fits it. */
const forge = (list: string, more: object = {}): string => `${headerOf(list, more)}\n${list}\n`;
const open = (text: string) => envelope.open(Buffer.from(text), READ);
const ageOf = (atMs: number): number => READ.nowMs - atMs;
const refusalOf = async (text: string): Promise<string> => {
  const error: unknown = await open(text).catch((reason: unknown) => reason);
  return error instanceof StoreError ? error.message : `not refused: ${JSON.stringify(error)}`;
};

describe('a saved list', () => {
  const PAST = {
    decisions: [
      {
        id: 'second',
        madeAtMs: monotonic(WRITTEN.nowMs - 10_000),
        madeAtWallMs: wall(RECEIVED - 5_000),
        reasons: ['drifted'] as const,
        requestId: 'x'.repeat(128),
      },
    ],
    earlier: [
      {
        content: 'x'.repeat(22),
        count: 50_000,
        filled: new Map([['name', { string: 0.25, number: 0.5, boolean: 0, object: 0, array: 0 }]]),
        firstUntilMs: monotonic(WRITTEN.nowMs - 3 * MINUTE),
        lastUntilMs: monotonic(WRITTEN.nowMs - 2 * MINUTE),
      },
    ],
  };
  const sealed = async (more: Partial<CachedList> = {}): Promise<string> =>
    (await envelope.seal(await cachedList(more), WRITTEN)).toString();

  test('is three lines, of which the version before reads two: what it is, the list, and its past', async () => {
    const [header, list, past, ...rest] = (await sealed()).split('\n');
    expect([header, list, rest]).toEqual([headerOf(LIST), LIST, ['']]);
    expect(JSON.parse(past ?? '')).toEqual({
      id: VERSION.listId,
      version: VERSION,
      savedAtMs: WRITTEN.storeMs,
      ageMs: 5_000,
      loadMs: 400,
      isAgeUnknown: false,
      hasNextPage: false,
      rejected: NOTHING_REJECTED,
      decisions: [],
      memory: [],
    });
    expect((await sealed(PAST)).split('\n')[1]).toBe(
      listWith(`${TIMES},"acceptedAtMs":${RECEIVED - 5_000}`),
    );
  });

  test('is read as it was, and all its times by the clock of the reader', async () => {
    const list = await open(await sealed(PAST));
    expect(list.json.toString()).toBe(BANKS);
    expect(list).toMatchObject({
      count: 2,
      id: VERSION.listId,
      place: { kind: 'stored', version: VERSION },
      changedAtMs: CHANGED,
    });
    const [decision] = list.decisions;
    const [earlier] = list.earlier;
    const { requestedAtMs, loadedAtMs } = list;
    expect([ageOf(requestedAtMs), ageOf(loadedAtMs)]).toEqual([65_400, 65_000]);
    expect(
      [decision?.madeAtMs, earlier?.firstUntilMs, earlier?.lastUntilMs].map((atMs) =>
        ageOf(atMs ?? 0),
      ),
    ).toEqual([70_000, 4 * MINUTE, 3 * MINUTE]);
    expect(decision).toMatchObject({
      id: 'second',
      reasons: ['drifted'],
      requestId: 'x'.repeat(128),
    });
    expect(earlier?.filled).toEqual(PAST.earlier[0]?.filled);
  });

  test('of the version before is read, with the age that its times have by the clock that reads', async () => {
    const list = await open(
      forge(listWith(`${TIMES},"acceptedAtMs":${RECEIVED - 1_000}`), { lifeMs: 5 }),
    );
    expect([ageOf(list.requestedAtMs), ageOf(list.loadedAtMs)]).toEqual([65_000, 65_000]);
    expect(list.place).toEqual({
      kind: 'successor',
      version: { series: '', number: 0, listId: '', former: [] },
    });
    expect(list.decisions.map(({ madeAtMs }) => ageOf(madeAtMs))).toEqual([66_000]);
  });

  /** What the version before wrote as its third line. */
  const remembering = (past: object): string =>
    `${forge(listWith(`${TIMES},"acceptedAtMs":${RECEIVED - 1_000}`))}${JSON.stringify(past)}\n`;
  test('of the version before is read with what that remembered, except for what is damaged', async () => {
    const earlier = Array.from({ length: 28 }, (_, index) => ({
      content: 'x'.repeat(22),
      count: index,
      heldUntilMs: RECEIVED - 1_000 * (28 - index),
    }));
    const decision = { reasons: ['shrunk'], requestId: 'ticket-7' };
    const list = await open(remembering({ earlier, decision }));
    expect(list.decisions).toMatchObject([decision]);
    expect(list.earlier.map(({ count }) => count)).toEqual(
      Array.from({ length: MAX_EARLIER_LISTS }, (_, index) => index + 28 - MAX_EARLIER_LISTS),
    );
    expect(ageOf(list.earlier.at(-1)?.lastUntilMs ?? 0)).toBe(66_000);
    const damaged = await open(
      remembering({
        earlier: [7, { ...earlier[0], heldUntilMs: LATEST + 1 }, { ...earlier[1], count: -1 }],
        decision: { reasons: ['all'], requestId: 7 },
      }),
    );
    expect(damaged.earlier).toEqual([]);
    expect(damaged.decisions).toMatchObject([{ reasons: ['shrunk', 'drifted'], requestId: '' }]);
  });

  test.each([
    ['', () => sealed(PAST)],
    [
      ' of the version before',
      () => Promise.resolve(remembering({ earlier: [], decision: { reasons: ['shrunk'] } })),
    ],
  ])('%s whose third line is cut is refused', async (_which, write) => {
    const text = await write();
    const start = text.split('\n', 2).join('\n').length + 1;
    for (let end = start + 1; end < text.length - 1; end += 1)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await refusalOf(text.slice(0, end))).toMatch(/damaged metadata; ignored$/);
    expect((await open(text.slice(0, -1))).count).toBe(2);
  });

  test.each([
    [0, 999, 0],
    [0, 1_000, 0],
    [0, 1_001, TTL_MS + 1],
    [TTL_MS, 1_001, TTL_MS + 1],
    [2 * TTL_MS, 1_001, 2 * TTL_MS],
  ])('%i ms old that was saved %i ms in the future is %i ms old', async (oldMs, aheadMs, ageMs) => {
    const storeMs = READ.storeMs + aheadMs;
    const atMs = monotonic(WRITTEN.nowMs - oldMs);
    const cached = await cachedList({ requestedAtMs: atMs, loadedAtMs: atMs });
    const list = await open((await envelope.seal(cached, { ...WRITTEN, storeMs })).toString());
    expect(ageOf(list.loadedAtMs)).toBe(ageMs);
  });

  const past = async (change: object): Promise<string> => {
    const [header, list, line = ''] = (await sealed(PAST)).split('\n');
    return `${header}\n${list}\n${JSON.stringify({ ...JSON.parse(line), ...change })}\n`;
  };
  test('tells whether it is incomplete, whether its age is known, and how many entries were rejected', async () => {
    for (const known of [true, false]) {
      const rejected = { ...NOTHING_REJECTED, duplicate: known ? 7 : 0 };
      const told = { hasNextPage: known, isAgeUnknown: !known, rejected };
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await open(await sealed(told))).toMatchObject(told);
    }
  });
  test.each([
    ['an id that is too long', { id: 'x'.repeat(65) }],
    ['no version', { version: 7 }],
    ['a version beyond all', { version: { ...VERSION, number: 1e15 + 1 } }],
    ['a negative version', { version: { ...VERSION, number: -1 } }],
    ['a time beyond all', { savedAtMs: LATEST + 1 }],
    ['an age that is no number', { ageMs: '1' }],
    ['nothing about the next page', { hasNextPage: undefined }],
    ['nothing about whether its age is known', { isAgeUnknown: undefined }],
  ])('with %s is refused', async (_what, change) => {
    expect(await refusalOf(await past(change))).toBe(
      'contains a list with damaged metadata; ignored',
    );
  });
  test.each([
    [
      'decisions',
      { decisions: [{}, { id: 'x', ageMs: 1, madeAtWallMs: 1, reasons: ['all'], requestId: 'x' }] },
    ],
    ['memory', { memory: [{}, { ...PAST.earlier[0], count: -1 }, 7] }],
    ['lists of them', { memory: 7, decisions: {} }],
    ['numbers of rejected entries', { rejected: { duplicate: -1, required_field: '1' } }],
    ['rejected entries', { rejected: 7 }],
  ])('is read without damaged %s', async (_what, change) => {
    const list = await open(await past(change));
    expect([list.count, list.rejected]).toEqual([2, NOTHING_REJECTED]);
  });

  test('is read without a decision that has no date: it could not be written again', async () => {
    const valid = { ageMs: 1, madeAtWallMs: 1, reasons: ['shrunk'], requestId: 'x' };
    const damaged = [LATEST + 1, 1e300, -1, '1', undefined].map((madeAtWallMs, index) => ({
      ...valid,
      id: `damaged${index}`,
      madeAtWallMs,
    }));
    const decisions = [...damaged, { ...valid, id: 'valid', madeAtWallMs: LATEST }];
    const list = await open(await past({ decisions }));
    expect(list.decisions.map(({ id }) => id)).toEqual(['valid']);
    expect((await open(await sealed({ decisions: list.decisions }))).decisions).toHaveLength(1);
  });

  test('remembers no more than this service would, and a long third line is not even parsed', async () => {
    const memory = Array.from({ length: 90 }, () => ({
      content: 'x'.repeat(22),
      count: 2,
      firstAgeMs: 1,
      lastAgeMs: 1,
      filled: {},
    }));
    expect((await open(await past({ memory }))).earlier).toHaveLength(MAX_EARLIER_LISTS);
    const large = createEnvelope({
      provenance: PROVENANCE,
      contract: { ...CONTRACT, maxBytes: 5_000_000 },
      signing: UNSIGNED,
      ttlMs: TTL_MS,
    });
    const poisoned = await past({ memory: Array.from({ length: 1_000_000 }, () => ({})) });
    const usedBefore = process.memoryUsage().heapUsed;
    await expect(large.open(Buffer.from(poisoned), READ)).rejects.toThrow(/damaged metadata/);
    expect(process.memoryUsage().heapUsed - usedBefore).toBeLessThan(5_000_000);
  });

  test('may lack the line break at its end', async () => {
    expect((await open(forge(LIST).slice(0, -1))).json.toString()).toBe(BANKS);
  });

  describe('with a key', () => {
    const signedWith = (key: string | undefined) =>
      createEnvelope({
        provenance: PROVENANCE,
        contract: CONTRACT,
        signing: createSigning(key === undefined ? undefined : () => Promise.resolve(key)),
        ttlMs: TTL_MS,
      });
    test('is read with that key only, and every byte is signed', async () => {
      const bytes = await signedWith('one').seal(await cachedList(PAST), WRITTEN);
      expect((await signedWith('one').open(bytes, READ)).count).toBe(2);
      const refused = /^is not signed with CACHE_SIGNING_KEY; ignored$/;
      await expect(signedWith('another').open(bytes, READ)).rejects.toThrow(refused);
      await expect(signedWith('one').open(Buffer.from(await sealed()), READ)).rejects.toThrow(
        refused,
      );
      for (let at = 0; at < bytes.length; at += 7) {
        const altered = Buffer.from(bytes);
        altered[at] = (altered[at] ?? 0) ^ 1;
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await expect(signedWith('one').open(altered, READ)).rejects.toThrow(refused);
      }
    });
    const hmacOf = (what: string, text: string): string =>
      createHmac('sha256', 'one').update(`banks-bff ${what}\n${text}`).digest('base64url');
    test.each([
      ['list', 'lease'],
      ['lease', 'list'],
    ] as const)(
      'a %s has a signature that all versions know, and is no %s',
      async (what, other) => {
        const signing = createSigning(() => Promise.resolve('one'));
        const signed = await signing.sign(what, Buffer.from('text\n'));
        expect(signed.toString()).toBe(`text\n${hmacOf(what, 'text\n')}\n`);
        expect((await signing.verify(what, signed)).toString()).toBe('text\n');
        await expect(signing.verify(other, signed)).rejects.toThrow(StoreError);
        expect(await signing.keyId()).toBe(hmacOf('key id', '').slice(0, 8));
      },
    );
    test('can be read by a service without one, as by the version before', async () => {
      const bytes = await signedWith('one').seal(await cachedList(), WRITTEN);
      expect((await envelope.open(bytes, READ)).id).toBe(VERSION.listId);
    });
  });
});

describe('an envelope is refused', () => {
  test('beyond its largest size, to the byte', async () => {
    const text = `${forge(LIST)}\n`;
    expect((await open(text.padEnd(envelope.maxBytes))).count).toBe(2);
    expect(await refusalOf(text.padEnd(envelope.maxBytes + 1))).toBe(
      `contains more than ${envelope.maxBytes} bytes; ignored`,
    );
  });

  test('with a first line of more than 1 kB', async () => {
    const header = headerOf(LIST);
    expect((await open(`${header.padEnd(1_024)}\n${LIST}\n`)).count).toBe(2);
    expect(await refusalOf(`${header.padEnd(1_025)}\n${LIST}\n`)).toMatch(
      /^does not contain a saved list/,
    );
  });

  test.each<[string, string, RegExp]>([
    ['an empty first line', `\n${LIST}\n`, /^does not contain/],
    ['one line', headerOf(LIST), /^does not contain/],
    ['a first line that is not JSON', `{"format"\n${LIST}\n`, /^does not contain/],
    ['a first line that is no object', `null\n${LIST}\n`, /^does not contain/],
    ['another format', forge(LIST, { format: 'x' }), /^does not contain/],
    ['another version', forge(LIST, { version: 2 }), /another version/],
    ['other settings', forge(LIST, { provenance: 'others' }), /another configuration/],
    ['another checksum', forge(LIST, { checksum: digest(`${LIST} `) }), /damaged/],
  ])('with %s', async (_name, text, message) => {
    expect(await refusalOf(text)).toMatch(message);
  });

  test.each<[string, string]>([
    ['no times', `{"banks":${BANKS}}`],
    ['times in another order', listWith(`"changedAtMs":1,"receivedAtMs":1`)],
    ['a time that is no whole number', listWith('"receivedAtMs":1.5,"changedAtMs":1')],
    ['a time before 1970', listWith('"receivedAtMs":-1,"changedAtMs":1')],
    ['received after the year 9999', listWith(`"receivedAtMs":${LATEST + 1},"changedAtMs":1`)],
    ['changed after the year 9999', listWith(`"receivedAtMs":1,"changedAtMs":${LATEST + 1}`)],
    ['accepted after the year 9999', listWith(`${TIMES},"acceptedAtMs":${LATEST + 1}`)],
    ['something before the list', ` ${LIST}`],
    ['something after the list', `${LIST} `],
    ['another member after the list', `${LIST.slice(0, -1)},"x":1]`],
  ])('for a list of the wrong shape, with %s', async (_name, list) => {
    expect(await refusalOf(forge(list))).toBe('contains a list of the wrong shape; ignored');
  });

  test.each<[string, string]>([
    ['a space', '[ {"id":"1","name":"A"}]'],
    ['a field under its name at the provider', '[{"ispb":"1","id":"1","name":"A"}]'],
    ['an entry without a required field', '[{"id":null,"name":"A"},{"id":"1","name":"A"}]'],
    ['an entry twice', '[{"id":"1","name":"A"},{"id":"1","name":"A"}]'],
  ])('for a list that this service would not write, because of %s', async (_name, banks) => {
    expect(await refusalOf(forge(listWith(TIMES, banks)))).toBe(
      'contains an altered list; ignored',
    );
  });
});

describe('settings', () => {
  const SETTINGS = {
    environment: 'sandbox' as const,
    baseUrl: new URL('https://a.example'),
    fields: CONTRACT.fields,
    requiredFields: ['id'],
  };
  const id = provenanceId(SETTINGS);

  test('have a short identifier, equal for equal ones', () => {
    expect(id).toMatch(/^[\w-]{22}$/);
    expect(provenanceId({ ...SETTINGS, baseUrl: new URL('https://a.example') })).toBe(id);
    // Whether a field may be missing changes no list.
    expect(
      provenanceId({
        ...SETTINGS,
        fields: CONTRACT.fields.map((field) => ({ ...field, isOptional: true })),
      }),
    ).toBe(id);
  });

  test('without a path of the list it is that of earlier versions', () => {
    const settings = {
      environment: 'sandbox',
      baseUrl: new URL('https://a.example/x'),
      fields: [{ name: 'id', from: 'ispb' }],
      requiredFields: ['id'],
    } as const;
    expect(provenanceId(settings)).toBe('VsoRgbVGcp7QqYLiMoE9Ug');
    expect(provenanceId({ ...settings, listPath: 'data' })).not.toBe('VsoRgbVGcp7QqYLiMoE9Ug');
  });

  test.each<[string, Partial<Parameters<typeof provenanceId>[0]>]>([
    ['environment', { environment: 'production' }],
    ['path', { baseUrl: new URL('https://a.example/x') }],
    ['order of fields', { fields: CONTRACT.fields.toReversed() }],
    ['source of a field', { fields: ['id', 'name'].map((name) => ({ name, from: name })) }],
    ['fields, all of them', { fields: undefined }],
    ['fields, none of them', { fields: [] }],
    ['required fields', { requiredFields: [] }],
  ])('with another %s have another one', (_name, change) => {
    expect(provenanceId({ ...SETTINGS, ...change })).not.toBe(id);
  });
});
