import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import supertest from 'supertest';
import { clientCredentialsEnv, eventually, startRig, type Rig, type RigOptions } from './kit/rig.ts';

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

test('a defect is a 500 that says nothing about it, and is in the log', async () => {
  await start();
  await eventually(hasList);
  const working = { ...rig.service.list };
  Object.assign(rig.service.list, {
    status: () => {
      throw new Error('a defect');
    },
  });
  const { text } = await supertest(rig.url).get('/healthz').expect(500);
  Object.assign(rig.service.list, working);
  expect(JSON.parse(text)).toMatchObject({ code: 'internal_error' });
  expect(text).not.toContain('defect');
  expect(rig.messages()).toContain('unexpected error in a request');
  expect(rig.log()).toContain('a defect');
});

test('1,000 simultaneous requests at a cold start cause one upstream call, and all get the list', async () => {
  await start({ before: (emulator) => emulator.behave('slow', { delayMs: 200 }) });
  const answers = await Promise.all(
    Array.from({ length: 1000 }, async () => (await fetch(`${rig.url}/banks`)).json()),
  );
  expect(answers.every((body) => Array.isArray(body) && body.length === 513)).toBe(true);
  expect(rig.emulator.listCalls()).toBe(1);
});

test('while draining, every answer says that its connection ends', async () => {
  await start();
  await eventually(hasList);
  const stopped = rig.service.stop({ noticeMs: 3_000 });
  for (const path of ['/banks', '/healthz', '/nothing']) {
    const answer = await fetch(rig.url + path);
    await answer.arrayBuffer();
    expect([path, answer.headers.get('connection')]).toEqual([path, 'close']);
  }
  rig.clock.advance(3_000);
  await stopped;
});

test('a stop ends everything: renewals, the management port, and requests to the provider', async () => {
  const sockets = new Set<Socket>();
  const endpoint = createServer(
    (socket) => void sockets.add(socket.resume().on('error', () => undefined)),
  ).listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  const address = endpoint.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  await start({
    envFor: (emulator) => ({
      ...clientCredentialsEnv(emulator),
      PROVIDER_TOKEN_URL: `http://127.0.0.1:${port}/token`,
    }),
  });
  await eventually(() => sockets.size === 1);
  const page = connect(Number(new URL(rig.operatorsUrl).port), '127.0.0.1').on('error', () => undefined);
  // In the middle of its second request, because Node closes idle connections by itself.
  page.resume().write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\n');
  await eventually(() => page.bytesRead > 0);
  const stopped = rig.service.stop({ noticeMs: 0 });
  rig.clock.advance(0);
  await stopped;
  await eventually(() => page.destroyed && [...sockets].every(({ readableEnded }) => readableEnded));
  await expect(fetch(rig.operatorsUrl)).rejects.toThrow('fetch failed');
  endpoint.close();
  // Nothing is to come: a clock that moved on would only hide it.
  expect([sockets.size, rig.clock.waits()]).toEqual([1, []]);
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
