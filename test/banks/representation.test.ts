import { expect, test } from '@jest/globals';
import * as zlib from 'node:zlib';
import { represent } from '../../src/banks/representation.ts';

const BANKS = Array.from({ length: 50 }, (_, index) => ({ code: String(index), name: `Banco nº ${index}` }));
const json = JSON.stringify(BANKS);

/** Since Node 22.15. */
const hasZstd = (module: object): module is { zstdDecompressSync: (bytes: Buffer) => Buffer } =>
  'zstdDecompressSync' in module;

test('every encoding decodes to the same JSON, and is named by an entity tag of its own', async () => {
  const { identity, gzip, br, zstd } = await represent(Buffer.from(json));
  expect(identity.body.toString()).toBe(json);
  expect(zlib.gunzipSync(gzip.body).toString()).toBe(json);
  expect(zlib.brotliDecompressSync(br.body).toString()).toBe(json);
  const etags = [identity, gzip, br, ...(zstd ? [zstd] : [])].map(({ etag }) => etag);
  expect(new Set(etags).size).toBe(etags.length);
  for (const etag of etags) expect(etag).toMatch(/^"[\w-]{27}"$/);
  expect(zstd !== undefined).toBe(hasZstd(zlib));
  if (!zstd || !hasZstd(zlib)) return;
  expect(zlib.zstdDecompressSync(zstd.body).toString()).toBe(json);
  // Single_Segment_flag (RFC 8878 section 3.1.1.1.1): decoding takes memory for the list, not for a window of 8 MB.
  expect(zstd.body.readUInt8(4) & 0x20).toBe(0x20);
});

test('a list above 1 MiB is compressed at Brotli 9, or its first clients would wait for seconds', async () => {
  const large = Buffer.from(JSON.stringify(Array.from({ length: 1_200 }, () => BANKS.slice(0, 30))));
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_MODE, BROTLI_PARAM_SIZE_HINT, BROTLI_MODE_TEXT } =
    zlib.constants;
  const params = { [BROTLI_PARAM_MODE]: BROTLI_MODE_TEXT, [BROTLI_PARAM_SIZE_HINT]: large.length };
  const quick = zlib.brotliCompressSync(large, { params: { ...params, [BROTLI_PARAM_QUALITY]: 9 } });
  expect((await represent(large)).br.body.equals(quick)).toBe(true);
});

test('encoding leaves the event loop free', async () => {
  const many = Array.from({ length: 20_000 }, (_, code) => ({ code, name: `Banco nº ${code}` }));
  let turns = 0;
  const count = setInterval(() => (turns += 1), 1);
  await represent(Buffer.from(JSON.stringify(many)));
  clearInterval(count);
  expect(turns).toBeGreaterThan(10);
});
