import { afterEach, expect, test } from '@jest/globals';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { makeBanks } from '../kit/banks.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The management port: a forced refresh, who may request it, and what it accepts.

let rig: Rig;
afterEach(() => rig.close());

const start = async (
  options: RigOptions = { env: { MANAGEMENT_TOKEN: 'operator-token-for-tests' } },
): Promise<void> => {
  rig = await startRig(options);
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
};
const refresh = (query = '', token = 'operator-token-for-tests') =>
  supertest(rig.operatorsUrl).post(`/refresh${query}`).set('Authorization', `Bearer ${token}`);
const count = async (): Promise<unknown> => {
  const { body } = await supertest(rig.url).get('/banks').expect(200);
  return Array.isArray(body) ? body.length : undefined;
};

/** The answer to a wrong token, which waits for the clock. */
const refusal = async (token: string) => {
  const answer = refresh('', token).expect(401);
  const delayOver = eventually(() => rig.clock.waits().includes(1_000)).then(() => rig.clock.advance(1_000));
  return (await Promise.all([answer, delayOver]))[0];
};

test('a refresh loads now, and says whether anything changed', async () => {
  await start();
  expect((await refresh().expect(200)).body).toEqual({ outcome: 'unchanged', count: 513, rejected: 0 });
  await rig.emulator.behave('some-unusable');
  expect((await refresh().expect(200)).body).toEqual({ outcome: 'changed', count: 487, rejected: 26 });
  expect(rig.emulator.listCalls()).toBe(3);
});

test.each(['wrong', 'operator2', 'operato'])(
  'the token %p is answered with 401 and causes no call',
  async (token) => {
    await start();
    const answer = await refusal(token);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.body).toMatchObject({ code: 'unauthorized' });
    expect(rig.emulator.listCalls()).toBe(1);
  },
);

test('without a configured token nobody can refresh', async () => {
  await start({});
  expect((await refresh('', '').expect(403)).body).toMatchObject({ code: 'refresh_disabled' });
});

test('the token can come from a file, which may be rotated', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'token');
  writeFileSync(path, 'first-management-token\n');
  await start({ env: { MANAGEMENT_TOKEN_FILE: path } });
  await refresh('', 'first-management-token').expect(200);
  writeFileSync(path, 'second-management-token\n');
  await refusal('first-management-token');
  await refresh('', 'second-management-token').expect(200);
});

test('a shrunken list is refused until an operator accepts it, once', async () => {
  await start();
  await rig.emulator.behave('shrunk');
  const refused = (await refresh().expect(502)).body;
  expect(refused).toMatchObject({ code: 'refresh_failed', kind: 'shrunk' });
  expect(await count()).toBe(513);

  await refresh('?accept=shrunk').expect(200);
  expect(await count()).toBe(256);
  await rig.emulator.behave('few');
  await refresh().expect(502);
  expect(await count()).toBe(256);
});

test('accepting a shrunken list accepts no other fault', async () => {
  await start();
  for (const behaviour of ['empty', 'most-unusable', 'html', 'unavailable'] as const) {
    await rig.emulator.behave(behaviour);
    await refresh('?accept=shrunk').expect(502);
  }
  expect(await count()).toBe(513);
});

test('a list whose fields changed is refused until an operator accepts it, once', async () => {
  await start();
  await rig.emulator.behave('retyped-field');
  const { body: refused } = await refresh().expect(502);
  expect(refused).toMatchObject({ code: 'refresh_failed', kind: 'drifted' });
  expect(refused.detail).toContain('if that is right, POST /refresh?accept=drifted accepts it');
  await refresh('?accept=shrunk').expect(502);
  expect((await refresh('?accept=drifted').expect(200)).body).toMatchObject({
    outcome: 'changed',
    count: 513,
  });

  // The next change, back included, is another decision.
  await rig.emulator.behave('healthy');
  expect((await refresh().expect(502)).body).toMatchObject({ kind: 'drifted' });
  await refresh('?accept=drifted').expect(200);
});

test('a list that shrank and whose fields changed is accepted by naming both', async () => {
  await start();
  rig.emulator.setBanks(makeBanks(200).map((bank) => ({ ...bank, name: null })));
  const { body: shrunk } = await refresh().expect(502);
  expect(shrunk).toMatchObject({ kind: 'shrunk' });
  const { body: drifted } = await refresh('?accept=shrunk').expect(502);
  expect(drifted).toMatchObject({ kind: 'drifted' });
  expect(drifted.detail).toContain('POST /refresh?accept=shrunk,drifted accepts it');
  await refresh('?accept=shrunk,drifted').expect(200);
  expect(await count()).toBe(200);
});

test('a refresh is not answered from what the provider says has not changed', async () => {
  await start({ env: { MANAGEMENT_TOKEN: 'operator-token-for-tests' }, emulator: { validators: true } });
  await refresh().expect(200);
  expect(rig.emulator.calls.map(({ status }) => status)).toEqual([200, 200]);
});

test('an unknown value of accept is refused, another method too', async () => {
  await start();
  for (const accept of ['everything', '', 'shrunk,everything', 'shrunk&accept=drifted']) {
    const { body } = await refresh(`?accept=${accept}`).expect(400);
    expect(body.detail).toBe('accept can be shrunk or drifted, or both with a comma between them.');
  }
  expect(rig.emulator.listCalls()).toBe(1);
  expect((await supertest(rig.operatorsUrl).get('/refresh').expect(405)).headers['allow']).toBe('POST');
});

test('/healthz is served here as well, and /banks is not', async () => {
  await start();
  await supertest(rig.operatorsUrl).get('/healthz').expect(200);
  await supertest(rig.operatorsUrl).get('/readyz').expect(200);
  await supertest(rig.operatorsUrl).get('/banks').expect(404);
});
