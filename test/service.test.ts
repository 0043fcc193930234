import { afterEach, describe, expect, test } from '@jest/globals';
import supertest from 'supertest';
import { eventually, startRig, type Rig, type RigOptions } from './kit/rig.ts';

let rig: Rig;
afterEach(() => rig.close());

const start = async (options?: RigOptions): Promise<void> => {
  rig = await startRig(options);
};
const getBanks = () => supertest(rig.url).get('/banks');
const hasFailed = () => rig.service.list.status().failure !== undefined;
const hasList = () => rig.service.list.served() !== undefined;

describe('GET /banks', () => {
  test("returns all banks with only the published fields, in the provider's order", async () => {
    await start();
    const { body, headers } = await getBanks().expect(200);
    expect(body).toHaveLength(513);
    expect(body[0]).toEqual({ code: '001', ispb: '00000000', name: 'BCO DO BRASIL S.A.' });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test('publishes a field under its configured name', async () => {
    await start({ env: { BANK_FIELDS: 'id:ispb,name' } });
    const { body } = await getBanks().expect(200);
    expect(body[0]).toEqual({ id: '00000000', name: 'BCO DO BRASIL S.A.' });
  });

  test('answers HEAD with the headers of GET and no body', async () => {
    await start();
    const get = await getBanks().set('Accept-Encoding', 'br');
    const head = await supertest(rig.url).head('/banks').set('Accept-Encoding', 'br').expect(200);
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
    expect(head.headers['etag']).toBe(get.headers['etag']);
  });
});

test('1,000 simultaneous requests at a cold start cause one upstream call, and all get the list', async () => {
  await start({ before: (emulator) => emulator.behave('slow', { delayMs: 200 }) });
  const answers = await Promise.all(
    Array.from({ length: 1000 }, async () => (await fetch(`${rig.url}/banks`)).json()),
  );
  expect(answers.every((body) => Array.isArray(body) && body.length === 513)).toBe(true);
  expect(rig.emulator.listCalls()).toBe(1);
});

test('after a failed renewal the cached list is served, and the next renewal succeeds', async () => {
  await start();
  await eventually(hasList);
  await rig.emulator.behave('unavailable');
  rig.clock.next();
  await eventually(hasFailed);
  await getBanks().expect(200);
  await rig.emulator.behave('healthy');
  rig.clock.next();
  await eventually(() => !hasFailed());
  expect(rig.emulator.listCalls()).toBe(3);
});
