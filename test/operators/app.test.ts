import { afterEach, expect, test } from '@jest/globals';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { makeBanks } from '../kit/banks.ts';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// The management port: a forced refresh, who may request it, and what it accepts.

const TOKEN = 'operator-token-for-tests';

let rig: Rig;
afterEach(() => rig.close());

const start = async (env = { MANAGEMENT_TOKEN: TOKEN }): Promise<void> => {
  rig = await startRig({ env });
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
};
/** Asks for a refresh with the query, and returns the answer, which must have the status. */
const refresh = async (status: number, query = '', token = TOKEN) => {
  const request = supertest(rig.operatorsUrl).post(`/refresh${query}`);
  return (await request.set('Authorization', `Bearer ${token}`).expect(status)).body;
};
const count = async (): Promise<unknown> => {
  const { body } = await supertest(rig.url).get('/banks').expect(200);
  return Array.isArray(body) ? body.length : undefined;
};

test('a refresh loads now, and says whether anything changed', async () => {
  await start();
  expect(await refresh(200)).toEqual({ outcome: 'unchanged', count: 513, rejected: 0 });
  await rig.emulator.behave('some-unusable');
  expect(await refresh(200)).toEqual({ outcome: 'changed', count: 487, rejected: 26 });
  expect(rig.emulator.listCalls()).toBe(3);
  // A list that came again is the same one, however old it was.
  rig.clock.skip(30 * 86_400_000);
  expect(await refresh(200)).toMatchObject({ outcome: 'unchanged' });
});

test('without a configured token nobody can refresh', async () => {
  await start({ MANAGEMENT_TOKEN: '' });
  expect(await refresh(403, '', '')).toMatchObject({ code: 'refresh_disabled' });
});

test('the token can come from a file, which may be rotated; another one causes no call', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'token');
  writeFileSync(path, 'first-management-token\n');
  const env = { MANAGEMENT_TOKEN: '', MANAGEMENT_TOKEN_FILE: path };
  await start(env);
  await refresh(200, '', 'first-management-token');
  writeFileSync(path, 'second-management-token\n');
  await refresh(200, '', 'second-management-token');
  for (const wrong of ['first-management-token', 'second-management', 'second-management-token2']) {
    const refusal = refresh(401, '', wrong);
    await eventually(() => rig.clock.waits().includes(1_000));
    rig.clock.advance(1_000);
    expect(await refusal).toMatchObject({ code: 'unauthorized' });
  }
  expect(rig.emulator.listCalls()).toBe(3);
});

test('a list that the guard refuses is taken when an operator names its reasons, and the next one is another decision', async () => {
  await start();
  rig.emulator.setBanks(makeBanks(200).map((bank) => ({ ...bank, name: null })));
  expect(await refresh(502)).toMatchObject({ code: 'refresh_failed', kind: 'shrunk' });
  expect(await refresh(502, '?accept=shrunk')).toMatchObject({
    kind: 'drifted',
    detail: expect.stringContaining('; if that is right, POST /refresh?accept=shrunk,drifted accepts it'),
  });
  expect(await count()).toBe(513);
  expect(await refresh(200, '?accept=shrunk,drifted')).toMatchObject({ outcome: 'changed', count: 200 });
  expect(await count()).toBe(200);

  await rig.emulator.behave('few');
  expect(await refresh(502)).toMatchObject({ kind: 'shrunk' });
  for (const behaviour of ['empty', 'most-unusable', 'html', 'unavailable'] as const) {
    await rig.emulator.behave(behaviour);
    await refresh(502, '?accept=shrunk');
  }
  expect(await count()).toBe(200);
});

test('an unknown value of accept, another method and another path are refused', async () => {
  await start();
  for (const accept of ['everything', '', 'shrunk,everything', 'shrunk&accept=drifted']) {
    const { detail } = await refresh(400, `?accept=${accept}`);
    expect(detail).toBe('accept can be shrunk or drifted, or both with a comma between them.');
  }
  expect(rig.emulator.listCalls()).toBe(1);
  const operators = supertest(rig.operatorsUrl);
  expect((await operators.get('/refresh').expect(405)).headers['allow']).toBe('POST');
  await operators.get('/readyz').expect(200);
  await operators.get('/banks').expect(404);
});
