import { expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import { clientCredentialsEnv, refresh, startLoadedRig } from './helpers/rig.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';

// A provider that repeats a secret in its list, and tokens that are fragments of log lines.

const TOKEN = 'canary-token+/=%22~1';
const BANK = { code: '1', ispb: '1', name: 'One' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

test.each<[how: string, echo: unknown]>([
  ['in a sentence', `invalid token: Bearer ${TOKEN}.`],
  ['percent-encoded', encodeURIComponent(TOKEN)],
  ['in Base64', base64(TOKEN)],
  ['in Base64, after an id', base64(`id:${TOKEN}`)],
  ['as JSON in a text', JSON.stringify({ token: TOKEN })],
  ['in a list', ['x', TOKEN]],
])(
  'a list with the token in a published value, %s, reaches neither browser nor file',
  async (_how, echo) => {
    const snapshot = join(temporaryFolder('banks-echo-'), 'list');
    const rig = await startLoadedRig({
      env: { PROVIDER_ACCESS_TOKEN: TOKEN, CACHE_SNAPSHOT_FILE: snapshot },
      emulator: { accessTokens: [TOKEN], banks: [BANK, { code: '2', ispb: '2', name: echo }] },
    });
    await supertest(rig.url).get('/banks').expect(502);
    const { failing } = rig.service.list.status();
    expect(failing?.error.kind).toBe('echoed_secret');
    expect(failing?.error.message).toContain('PROVIDER_ACCESS_TOKEN');
    expect(existsSync(snapshot)).toBe(false);
    expect(rig.log()).not.toContain('canary');
  },
);

test('only what is published counts, however the provider has written it', async () => {
  const rig = await startLoadedRig({
    env: { PROVIDER_ACCESS_TOKEN: TOKEN },
    emulator: { accessTokens: [TOKEN], banks: [{ ...BANK, notes: TOKEN }] },
  });
  expect(rig.service.list.status().failing).toBeUndefined();
  const escaped = JSON.stringify([{ ...BANK, name: TOKEN }]).replace('canary', '\\u0063anary');
  rig.emulator.respondWith((_req, res) => res.end(escaped));
  expect((await refresh(rig))?.kind).toBe('echoed_secret');
});

test('the client secret is recognised as HTTP Basic sends it', async () => {
  const secret = 'a-canary%secret-with+signs';
  const sent = base64(`emulator-client:${encodeURIComponent(secret)}`);
  const rig = await startLoadedRig({
    envFor: (emulator) => ({ ...clientCredentialsEnv(emulator), PROVIDER_CLIENT_SECRET: secret }),
    emulator: { clientSecret: secret, banks: [{ ...BANK, name: `Basic ${sent}` }] },
  });
  expect(rig.emulator.calls[0]?.headers.authorization).toBe(`Basic ${sent}`);
  expect(rig.service.list.status().failing?.error.kind).toBe('echoed_secret');
});

test('a list with the token as the name of a field is refused too, where BANK_FIELDS is unset', async () => {
  const rig = await startLoadedRig({
    env: { PROVIDER_ACCESS_TOKEN: TOKEN, BANK_FIELDS: '' },
    emulator: { accessTokens: [TOKEN], banks: [{ ...BANK, [TOKEN]: 1 }] },
  });
  expect(rig.service.list.status().failing?.error.kind).toBe('echoed_secret');
});

test('a short value of a header for the provider may be in the list: it may be a number of a bank', async () => {
  const rig = await startLoadedRig({ env: { PROVIDER_HEADERS: 'x-client-ispb: 00000000' } });
  expect(rig.service.list.status().failing).toBeUndefined();
});

test('a long token is recognised by its last 64 characters, also in Base64', async () => {
  const end = `${'k'.repeat(32)}-${'q'.repeat(31)}`;
  const token = `${'a'.repeat(8_000)}${end}`;
  const rig = await startLoadedRig({
    env: { PROVIDER_ACCESS_TOKEN: token },
    emulator: {
      accessTokens: [token],
      banks: [{ ...BANK, name: `${'a'.repeat(8_000)}${end.slice(0, -1)}` }],
    },
  });
  expect(rig.service.list.status().failing).toBeUndefined();
  for (const name of [token, end, base64(`id:${token}`)]) {
    rig.emulator.setBanks([{ ...BANK, name }]);
    await rig.service.list.refresh();
    expect(rig.service.list.status().failing?.error.kind).toBe('echoed_secret');
  }
});

test.each(['}', 'e', 'succeeded'])(
  'the token %j makes no log line invalid, and no list an echo',
  async (token) => {
    const rig = await startLoadedRig({
      env: { PROVIDER_ACCESS_TOKEN: token, LOG_LEVEL: 'trace' },
      emulator: { accessTokens: [token] },
    });
    await supertest(rig.url).get('/banks').expect(200);
    await rig.emulator.behave('unavailable');
    await rig.service.list.refresh();
    const lines = rig.log().trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) expect(() => void JSON.parse(line)).not.toThrow();
  },
);
