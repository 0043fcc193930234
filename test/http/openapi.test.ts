import { afterEach, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

let rig: Rig;
afterEach(() => rig.close());
const start = async (options?: RigOptions): Promise<void> => {
  rig = await startRig(options);
};
const hasList = () => rig.service.list.served() !== undefined;
const getJson = async (path: string) => {
  const response = await fetch(`${rig.url}${path}`);
  const body: unknown = await response.json();
  return { status: response.status, body };
};

/** Follows `keys` into a JSON value. */
const at = (value: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce<unknown>((inner, key) => {
    if (typeof inner !== 'object' || inner === null) throw new Error(`nothing at ${keys.join(' / ')}`);
    return Object.entries(inner).find(([name]) => name === key)?.[1];
  }, value);

const examplesOf = (document: unknown, path: string, status: number): unknown[] => {
  const content = at(document, 'paths', path, 'get', 'responses', String(status), 'content');
  const examples = at(Object.values(content ?? {})[0], 'examples');
  return Object.values(examples ?? {}).map((example) => at(example, 'value'));
};

const createCheck = (document: unknown) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'urn:banks-bff:document', ...Object(document) });
  return (schema: string, value: unknown): unknown =>
    ajv.validate({ $ref: `urn:banks-bff:document#/components/schemas/${schema}` }, value);
};

test('real answers and the examples are what the schemas say, and nothing else is', async () => {
  await start();
  await eventually(hasList);
  const { body: document } = await getJson('/openapi.json');
  const check = createCheck(document);
  const { body: banks } = await getJson('/banks');
  if (!Array.isArray(banks)) throw new Error('no list');
  expect(banks.every((bank) => check('Bank', bank))).toBe(true);
  expect(check('Bank', { ...Object(banks[0]), document: '1' })).toBe(false);
  expect(check('Bank', { code: '001' })).toBe(false);
  const [example] = examplesOf(document, '/banks', 200);
  expect(example).toEqual([banks[0]]);

  expect(check('Health', (await getJson('/healthz')).body)).toBe(true);
  expect(examplesOf(document, '/healthz', 200).every((value) => check('Health', value))).toBe(true);
  expect(examplesOf(document, '/readyz', 200)).toEqual([(await getJson('/readyz')).body]);
});

test.each([
  ['unavailable', 503],
  ['not-json', 502],
] as const)('the %s problem is answered as its example says', async (behaviour, status) => {
  await start({ before: (emulator) => emulator.behave(behaviour) });
  const { body: document } = await getJson('/openapi.json');
  const answer = await getJson('/banks');
  expect(answer.status).toBe(status);
  expect(examplesOf(document, '/banks', status)).toContainEqual(answer.body);
  expect(createCheck(document)('Problem', answer.body)).toBe(true);
  const notReady = await getJson('/readyz');
  expect(examplesOf(document, '/readyz', 503)).toContainEqual(notReady.body);
});

test('it follows BANK_FIELDS, and without them a bank is free-form', async () => {
  await start({ env: { BANK_FIELDS: 'id:ispb,name' } });
  const { body: renamed } = await getJson('/openapi.json');
  expect(at(renamed, 'components', 'schemas', 'Bank', 'required')).toEqual(['id', 'name']);
  expect(JSON.stringify(renamed)).not.toContain('"ispb"');
  await rig.close();
  await start({ env: { BANK_FIELDS: '' } });
  const { body: free } = await getJson('/openapi.json');
  expect(at(free, 'components', 'schemas', 'Bank', 'additionalProperties')).toBe(true);
});

test('every problem has an example, and the statuses that can be retried have Retry-After', async () => {
  await start();
  const { body: document } = await getJson('/openapi.json');
  const examples = at(document, 'components', 'schemas', 'Problem', 'examples');
  const codes = at(document, 'components', 'schemas', 'Problem', 'properties', 'code', 'enum');
  if (!Array.isArray(examples) || !Array.isArray(codes)) throw new Error('no lists');
  expect(examples.map((example) => at(example, 'code'))).toEqual(codes);
  const check = createCheck(document);
  expect(examples.every((example) => check('Problem', example))).toBe(true);
  // openapi.json repeats the titles, and leaves no place open.
  const text = JSON.stringify(document);
  for (const [, summary, title] of text.matchAll(
    /"summary":"([^"]*)","value":{"type":"[^"]*","title":"([^"]*)"/g,
  ))
    expect(summary).toBe(title);
  expect(text.match(/"value":{"type":"urn/g)?.length).toBeGreaterThan(10);
  expect(text).not.toMatch(/"\{/);
  const retryAfter = (status: number): unknown =>
    at(document, 'paths', '/banks', 'get', 'responses', String(status), 'headers', 'Retry-After');
  for (const status of [502, 503, 504]) expect(retryAfter(status)).toBeDefined();
  expect(retryAfter(412)).toBeUndefined();
});

describe('a bank has the JSON types of the served list', () => {
  const property = (document: unknown, name: string): unknown =>
    at(document, 'components', 'schemas', 'Bank', 'properties', name);
  const replaceBanks = async (...banks: object[]): Promise<unknown> => {
    rig.emulator.setBanks(banks);
    await rig.service.list.refresh(['shrunk', 'drifted']);
    return (await getJson('/openapi.json')).body;
  };

  test('any type before the first list, then those that were seen', async () => {
    await start({
      env: { BANK_FIELDS: 'code,ispb,name,logo?,site?' },
      before: (emulator) => emulator.behave('unavailable'),
    });
    await eventually(() => rig.service.list.status().failure !== undefined);
    const { body: before } = await getJson('/openapi.json');
    expect(property(before, 'name')).toEqual({});
    await rig.emulator.behave('healthy');
    const document = await replaceBanks(
      { code: 1, ispb: '00000000', name: 'A', logo: 'a.png' },
      { ispb: '00038121', name: 'B', logo: 'b.png' },
      { code: '3', ispb: '00038166', name: 'C', logo: 'c.png' },
    );
    expect(property(document, 'name')).toEqual({ type: 'string' });
    expect(property(document, 'code')).toEqual({ type: ['string', 'number', 'null'] });
    // Optional: no list is refused for lacking it, so its null must be expected.
    expect(property(document, 'logo')).toEqual({ type: ['string', 'null'] });
    expect(property(document, 'site')).toEqual({});
    const check = createCheck(document);
    const { body: banks } = await getJson('/banks');
    if (!Array.isArray(banks)) throw new Error('no list');
    expect(banks.every((bank) => check('Bank', bank))).toBe(true);
    expect(check('Bank', { ...Object(banks[0]), name: null })).toBe(false);
    expect(
      examplesOf(document, '/banks', 200)
        .flat()
        .every((bank) => check('Bank', bank)),
    ).toBe(true);
  });

  test('with every field published, those that all entries have are required', async () => {
    await start({ env: { BANK_FIELDS: '' } });
    await eventually(hasList);
    const document = await replaceBanks({ name: 'A', tags: ['x'] }, { name: 'B', limits: { pix: true } });
    expect(at(document, 'components', 'schemas', 'Bank', 'required')).toEqual(['name']);
    expect(property(document, 'tags')).toEqual({ type: ['array', 'null'] });
    expect(property(document, 'limits')).toEqual({ type: ['object', 'null'] });
    expect(
      examplesOf(document, '/banks', 200)
        .flat()
        .every((bank) => createCheck(document)('Bank', bank)),
    ).toBe(true);
  });
});
