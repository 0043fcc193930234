import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { SavedList } from '../../src/banks/cached-list.ts';
import { MAX_EARLIER_LISTS } from '../../src/banks/guard/memory.ts';
import { createEnvelope, provenanceId } from '../../src/sharing/envelope.ts';
import { StoreError } from '../../src/sharing/list-store.ts';
import { readBanks } from '../kit/read-banks.ts';

// The format of a saved list, byte by byte. What a service makes of a saved list is in snapshot-file.test.ts.

const CONTRACT = {
  fields: [
    { name: 'id', from: 'ispb' },
    { name: 'name', from: 'name' },
  ],
  requiredFields: ['id'],
  maxBytes: 10_000,
};
const PROVENANCE = 'these-settings';
const envelope = createEnvelope({ provenance: PROVENANCE, contract: CONTRACT });

const BANKS = '[{"id":"1","name":"A"},{"id":"2","name":null}]';
const RECEIVED = Date.UTC(2026, 0, 2);
const CHANGED = Date.UTC(2026, 0, 1);
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const savedList = async (times: Partial<SavedList> = {}): Promise<SavedList> => ({
  ...(await readBanks(JSON.parse(BANKS))),
  receivedAtMs: RECEIVED,
  changedAtMs: CHANGED,
  acceptedAtMs: undefined,
  ...times,
});
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
const open = (text: string) => envelope.open(Buffer.from(text));
const refusalOf = async (text: string): Promise<string> => {
  const error: unknown = await open(text).catch((reason: unknown) => reason);
  return error instanceof StoreError ? error.message : `not refused: ${JSON.stringify(error)}`;
};

describe('a saved list', () => {
  test('is two lines: what it is, and the list with its times', async () => {
    const text = envelope.seal(await savedList({ acceptedAtMs: 7 }), 608_400_000).toString();
    const list = listWith(`${TIMES},"acceptedAtMs":7`);
    expect(text).toBe(forge(list, { lifeMs: 608_400_000 }));
    expect(envelope.seal(await savedList()).toString()).toBe(forge(LIST));
  });

  test.each([
    [undefined, undefined, CONTRACT.fields],
    [7, 0, CONTRACT.fields],
    [LATEST, LATEST, undefined],
  ])('accepted at %p, to be deleted after %p ms, is read as it was', async (acceptedAtMs, lifeMs, fields) => {
    const saved = await savedList({ acceptedAtMs });
    const { seal, open: read } = createEnvelope({
      provenance: PROVENANCE,
      contract: { ...CONTRACT, fields },
    });
    const { list, lifeMs: readLifeMs } = await read(seal(saved, lifeMs));
    expect(list.json.toString()).toBe(BANKS);
    expect(list).toMatchObject({ count: 2, receivedAtMs: RECEIVED, changedAtMs: CHANGED });
    expect([list.acceptedAtMs, readLifeMs]).toEqual([acceptedAtMs, lifeMs]);
    expect(list.profile).toEqual(saved.profile);
    expect(list.entryDigests).toEqual(saved.entryDigests);
    // Which fields it lacks is not known of what the provider sent.
    expect(list).not.toHaveProperty('absentFields');
  });

  const EARLIER = { content: 'x'.repeat(22), count: 2, heldUntilMs: 1 };
  const SAVED = `{"content":"${EARLIER.content}","count":2,"heldUntilMs":1}`;
  const LARGEST = { ...EARLIER, count: 50_000 };
  const decision = { reasons: ['drifted'] as const, requestId: 'x'.repeat(128) };
  const DECIDED = `{"reasons":["drifted"],"requestId":"${decision.requestId}"}`;

  test.each([
    [{ earlier: [EARLIER], decision }, `{"earlier":[${SAVED}],"decision":${DECIDED}}`],
    [{ earlier: [], decision }, `{"earlier":[],"decision":${DECIDED}}`],
    [{ earlier: [{ ...EARLIER, count: 0 }, LARGEST] }, expect.any(String)],
  ])('has what the guard remembers behind it, in a third line: %j', async (memory, line) => {
    const text = envelope.seal(await savedList(memory)).toString();
    // Versions without a memory read as far as here.
    expect(text.startsWith(forge(LIST))).toBe(true);
    expect(text.split('\n').slice(2)).toEqual([line, '']);
    expect((await open(text)).list).toMatchObject(memory);
  });

  test('has none at the bound of its size, where a reader would refuse more', async () => {
    const saved = await savedList({ earlier: [EARLIER] });
    const lineBytes = envelope.seal(saved).length - forge(LIST).length;
    const name = (more: number): string =>
      'x'.repeat(envelope.maxBytes - forge(LIST).length - lineBytes + more);
    const sealedBytes = (more: number): number =>
      envelope.seal({ ...saved, json: Buffer.from(BANKS.replace('"A"', `"A${name(more)}"`)) }).length;
    expect([sealedBytes(0), sealedBytes(1)]).toEqual([envelope.maxBytes, envelope.maxBytes - lineBytes + 1]);
  });

  test.each<[string, unknown]>([
    ['no line', ''],
    ['no JSON', '{"earlier":['],
    ['no object', '7'],
    ['no list', { earlier: 7 }],
    ['a list of something else', { earlier: [EARLIER, null] }],
    ['no content', { earlier: [{ count: 2, heldUntilMs: 1 }] }],
    ['another content', { earlier: [{ ...EARLIER, content: 'x' }] }],
    ['a negative count', { earlier: [{ ...EARLIER, count: -1 }] }],
    ['more entries than a list has', { earlier: [{ ...EARLIER, count: 50_001 }] }],
    ['no time', { earlier: [{ ...EARLIER, heldUntilMs: LATEST + 1 }] }],
    ['an unknown decision', { earlier: [], decision: { reasons: ['all'], requestId: 'x' } }],
    ['no request', { earlier: [], decision: { reasons: ['shrunk'] } }],
    ['a long request', { earlier: [], decision: { reasons: ['shrunk'], requestId: 'x'.repeat(129) } }],
  ])('is read without what a third line with %s says', async (_name, line) => {
    const text = `${forge(LIST)}${typeof line === 'string' ? line : JSON.stringify(line)}\n`;
    const { list } = await open(text);
    expect([list.count, list.earlier, list.decision]).toEqual([2, [], undefined]);
  });

  test('remembers at most as many lists as this service would', async () => {
    const line = JSON.stringify({ earlier: Array.from({ length: 50 }, () => EARLIER) });
    expect((await open(`${forge(LIST)}${line}\n`)).list.earlier).toHaveLength(MAX_EARLIER_LISTS);
  });

  test('may lack the line break at its end', async () => {
    expect((await open(forge(LIST).slice(0, -1))).list.json.toString()).toBe(BANKS);
  });

  test.each(['1', -1, 1.5, LATEST + 1, null])('with a life of %p is read without one', async (lifeMs) => {
    expect((await open(forge(LIST, { lifeMs }))).lifeMs).toBeUndefined();
  });
});

describe('is refused', () => {
  test('beyond its largest size, to the byte', async () => {
    expect(envelope.maxBytes).toBe(10_000 + 2_048);
    const text = forge(LIST);
    expect((await open(text.padEnd(envelope.maxBytes))).list.count).toBe(2);
    expect(await refusalOf(text.padEnd(envelope.maxBytes + 1))).toBe(
      'contains more than 12048 bytes; ignored',
    );
  });

  test('with a first line of more than 1 kB', async () => {
    const header = headerOf(LIST);
    expect((await open(`${header.padEnd(1_023)}\n${LIST}\n`)).list.count).toBe(2);
    expect(await refusalOf(`${header.padEnd(1_024)}\n${LIST}\n`)).toMatch(/^does not contain a saved list/);
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
  ])('%s', async (_name, text, message) => {
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
  ])('a list of the wrong shape, with %s', async (_name, list) => {
    expect(await refusalOf(forge(list))).toBe('contains a list of the wrong shape; ignored');
  });

  test.each<[string, string]>([
    ['a space', '[ {"id":"1","name":"A"}]'],
    ['a field under its name at the provider', '[{"ispb":"1","id":"1","name":"A"}]'],
    ['an entry without a required field', '[{"id":null,"name":"A"},{"id":"1","name":"A"}]'],
    ['an entry twice', '[{"id":"1","name":"A"},{"id":"1","name":"A"}]'],
  ])('a list that this service would not write, because of %s', async (_name, banks) => {
    expect(await refusalOf(forge(listWith(TIMES, banks)))).toBe('contains an altered list; ignored');
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
      provenanceId({ ...SETTINGS, fields: CONTRACT.fields.map((field) => ({ ...field, isOptional: true })) }),
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
