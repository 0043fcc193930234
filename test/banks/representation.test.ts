import { expect, test } from '@jest/globals';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { represent } from '../../src/banks/representation.ts';

const BANKS = Array.from({ length: 50 }, (_, index) => ({ code: String(index), name: `Banco nº ${index}` }));
const json = JSON.stringify(BANKS);

test('every encoding decodes to the same JSON, and is named by an entity tag of its own', async () => {
  const { identity, gzip, br, zstd } = await represent(Buffer.from(json));
  expect(identity.body.toString()).toBe(json);
  expect(gunzipSync(gzip.body).toString()).toBe(json);
  expect(brotliDecompressSync(br.body).toString()).toBe(json);
  const etags = [identity, gzip, br, ...(zstd ? [zstd] : [])].map(({ etag }) => etag);
  expect(new Set(etags).size).toBe(etags.length);
  for (const etag of etags) expect(etag).toMatch(/^"[\w-]{27}"$/);
});

test('the same list has the same entity tags wherever it is encoded, and another list has others', async () => {
  const [first, again, other] = await Promise.all([
    represent(Buffer.from(json)),
    represent(Buffer.from(json)),
    represent(Buffer.from(JSON.stringify(BANKS.slice(1)))),
  ]);
  expect(again).toEqual(first);
  expect(other.identity.etag).not.toBe(first.identity.etag);
  expect(other.br.etag).not.toBe(first.br.etag);
});

test('a list that has not changed is not encoded again', async () => {
  const first = await represent(Buffer.from(json));
  expect(await represent(Buffer.from(json), first)).toBe(first);
});

test('encoding leaves the event loop free', async () => {
  const many = Array.from({ length: 20_000 }, (_, index) => ({
    code: String(index),
    name: `Banco nº ${index}`,
  }));
  let turns = 0;
  const count = setInterval(() => (turns += 1), 1);
  await represent(Buffer.from(JSON.stringify(many)));
  clearInterval(count);
  expect(turns).toBeGreaterThan(10);
});
