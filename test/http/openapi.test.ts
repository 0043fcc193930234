import { expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { startLoadedRig, type Rig, type RigOptions } from '../helpers/rig.ts';

// What /openapi.json promises is what the service answers. That it is valid OpenAPI: npm run
// lint:openapi.

let rig: Rig;

const getJson = async (path: string): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`${rig.url}${path}`);
  return { status: response.status, body: await response.json() };
};
/** Follows `keys` into a JSON value. */
const at = (value: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce<unknown>((inner, key) => {
    if (typeof inner !== 'object' || inner === null)
      throw new Error(`nothing at ${keys.join(' / ')}`);
    return Object.entries(inner).find(([name]) => name === key)?.[1];
  }, value);

interface OpenApi {
  readonly document: unknown;
  /** Whether a value is what a schema says. */
  readonly check: (schema: string, value: unknown) => unknown;
  readonly examplesOf: (path: string, status: number) => unknown[];
  readonly bank: unknown;
}
/** Starts the service, gives it `banks`, and gets its document. */
const start = async (options: RigOptions = {}, banks?: readonly object[]): Promise<OpenApi> => {
  rig = await startLoadedRig(options);
  return banks ? replace(banks) : read();
};
const replace = async (banks: readonly object[]): Promise<OpenApi> => {
  await rig.emulator.behave('healthy');
  rig.emulator.setBanks(banks);
  await rig.service.list.refresh(['shrunk', 'drifted']);
  return read();
};
const read = async (): Promise<OpenApi> => {
  const { body: document } = await getJson('/openapi.json');
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'urn:banks-bff:document', ...Object(document) });
  return {
    document,
    check: (schema, value) =>
      ajv.validate({ $ref: `urn:banks-bff:document#/components/schemas/${schema}` }, value),
    examplesOf: (path, status) => {
      const content = at(document, 'paths', path, 'get', 'responses', String(status), 'content');
      const examples = at(Object.values(content ?? {})[0], 'examples');
      return Object.values(examples ?? {}).map((example) => at(example, 'value'));
    },
    bank: at(document, 'components', 'schemas', 'Bank'),
  };
};
/** The list and its example are what the schema says; gives the banks. */
const expectBanksFit = async ({ check, examplesOf }: OpenApi): Promise<unknown[]> => {
  const { body } = await getJson('/banks');
  if (!Array.isArray(body)) throw new Error('no list');
  const examples = examplesOf('/banks', 200).flat();
  expect(examples).toHaveLength(1);
  expect([...body, ...examples].filter((bank) => !check('Bank', bank))).toEqual([]);
  return body;
};

test('real answers and the examples are what the schemas say, and nothing else is', async () => {
  const openApi = await start();
  const { check, examplesOf } = openApi;
  const [bank] = await expectBanksFit(openApi);
  expect(check('Bank', { ...Object(bank), document: '1' })).toBe(false);
  expect(check('Bank', { code: '001' })).toBe(false);
  expect(check('Health', (await getJson('/healthz')).body)).toBe(true);
  expect(examplesOf('/healthz', 200).every((value) => check('Health', value))).toBe(true);
  expect(examplesOf('/readyz', 200)).toEqual([(await getJson('/readyz')).body]);
});

test.each([
  ['unavailable', 503],
  ['not-json', 502],
] as const)('the %s problem is answered as its example says', async (behaviour, status) => {
  const { check, examplesOf } = await start({ before: (emulator) => emulator.behave(behaviour) });
  const answer = await getJson('/banks');
  expect(answer.status).toBe(status);
  expect(examplesOf('/banks', status)).toContainEqual(answer.body);
  expect(check('Problem', answer.body)).toBe(true);
  expect(examplesOf('/readyz', 503)).toContainEqual((await getJson('/readyz')).body);
});

test('each problem has an example with its own title, and the statuses that can be retried have Retry-After', async () => {
  const { document, check } = await start();
  const problem = at(document, 'components', 'schemas', 'Problem');
  const examples = Object.values(Object(at(problem, 'examples')));
  expect(examples.map((example) => at(example, 'code'))).toEqual(
    at(problem, 'properties', 'code', 'enum'),
  );
  expect(examples.every((example) => check('Problem', example))).toBe(true);
  const text = JSON.stringify(document);
  const summaries = [
    ...text.matchAll(
      /"summary":"([^"]*)","value":{"type":"urn[^"]*","status":\d+,"title":"([^"]*)"/g,
    ),
  ];
  expect(summaries.length).toBeGreaterThan(10);
  expect(summaries.map(([, summary]) => summary)).toEqual(summaries.map(([, , title]) => title));
  // No place is left open.
  expect(text).not.toMatch(/"\{/);
  const headersOf = (status: string): unknown =>
    at(document, 'paths', '/banks', 'get', 'responses', status, 'headers', 'Retry-After');
  expect(['502', '503', '504', '412'].filter(headersOf)).toEqual(['502', '503', '504']);
});

test('a bank has the published fields, with any type before the first list, and then those that were seen', async () => {
  const { bank } = await start({
    env: { BANK_FIELDS: 'id:ispb,code,name,logo?,site?,tags?' },
    before: (emulator) => emulator.behave('unavailable'),
  });
  expect(at(bank, 'properties', 'name')).toEqual({});
  const openApi = await replace([
    { code: 1, ispb: '00000000', name: 'A', logo: 'a.png', tags: 'x' },
    { ispb: '00038121', name: 'B', logo: 'b.png', tags: [] },
    { code: '3', ispb: '00038166', name: '', logo: 'c.png' },
  ]);
  expect(openApi.bank).toMatchObject({
    properties: {
      id: { type: 'string' },
      code: { type: ['string', 'number', 'null'] },
      name: { type: 'string' },
      // Optional: no list is refused for lacking it, so its null must be expected.
      logo: { type: ['string', 'null'] },
      // Also of values that fill nothing.
      tags: { type: ['string', 'array', 'null'] },
    },
    required: ['id', 'code', 'name', 'logo', 'site', 'tags'],
    additionalProperties: false,
  });
  // No entry has had it.
  expect(openApi.bank).toHaveProperty('properties.site', {});
  const [first] = await expectBanksFit(openApi);
  expect(openApi.check('Bank', { ...Object(first), name: null })).toBe(false);
  const later = await replace(['A', 'B', 'C'].map((name) => ({ code: 1, ispb: name, name })));
  expect(later.bank).toHaveProperty('properties.code', { type: 'number' });
});

test('with every field published, those that all entries have are required, and there may be others', async () => {
  const openApi = await start({ env: { BANK_FIELDS: '' } }, [
    { name: 'A', tags: ['x'] },
    { name: 'B', limits: { pix: true }, pix: true },
  ]);
  expect(openApi.bank).toMatchObject({
    properties: { tags: { type: ['array', 'null'] }, pix: { type: ['boolean', 'null'] } },
    required: ['name'],
    additionalProperties: true,
  });
  await expectBanksFit(openApi);
});

test('the example is a bank also while the list is empty', async () => {
  await expectBanksFit(await start({ env: { GUARD_MIN_BANKS: '0' } }, []));
});
