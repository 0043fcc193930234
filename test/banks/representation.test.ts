import { expect, test } from '@jest/globals';
import * as zlib from 'node:zlib';
import { represent } from '../../src/banks/representation.ts';

const BANKS = Array.from({ length: 50 }, (_, index) => ({
  code: String(index),
  name: `Banco nº ${index}`,
}));
const json = JSON.stringify(BANKS);

test('every encoding decodes to the same JSON, and is named by an entity tag of its own', async () => {
  const { identity, gzip, br } = await represent(Buffer.from(json));
  expect(identity.body.toString()).toBe(json);
  expect(zlib.gunzipSync(gzip.body).toString()).toBe(json);
  expect(zlib.brotliDecompressSync(br.body).toString()).toBe(json);
  const etags = [identity, gzip, br].map(({ etag }) => etag);
  expect(new Set(etags).size).toBe(etags.length);
  for (const etag of etags) expect(etag).toMatch(/^"[\w-]{27}"$/);
});

test('encoding leaves the event loop free', async () => {
  const many = Array.from({ length: 20_000 }, (_, code) => ({ code, name: `Banco nº ${code}` }));
  let turns = 0;
  const count = setInterval(() => (turns += 1), 1);
  await represent(Buffer.from(JSON.stringify(many)));
  clearInterval(count);
  expect(turns).toBeGreaterThan(10);
});
