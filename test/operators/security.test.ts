import { afterEach, describe, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import express from 'express';
import supertest from 'supertest';
import { createTokenCheck } from '../../src/operators/authorization.ts';
import { sendRaw, type RawAnswer } from '../kit/raw-http.ts';
import { eventually, startRig, type Rig, type RigOptions } from '../kit/rig.ts';

// The management port against pages of other origins, DNS rebinding, guessed tokens and broken clients.

let rig: Rig;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await rig.close();
});

const TOKEN = 'operator-token-0123456789';

const start = async (env: RigOptions['env'] = {}): Promise<void> => {
  rig = await startRig({ env: { MANAGEMENT_TOKEN: TOKEN, ...env } });
  await eventually(() => rig.service.list.status().nextLoadInMs > 0);
};

/** One request as bytes. */
const ask = async (requestLine: string, ...lines: string[]): Promise<RawAnswer> => {
  const bytes = [requestLine, ...lines, 'Connection: close', '', ''].join('\r\n');
  const [answer] = await sendRaw(rig.operatorsUrl, bytes, { methods: [requestLine.split(' ')[0] ?? ''] });
  if (!answer) throw new Error(`no answer to ${requestLine}`);
  return answer;
};

const codeOf = ({ body }: RawAnswer): unknown => {
  const problem: unknown = JSON.parse(body);
  return typeof problem === 'object' && problem !== null && 'code' in problem ? problem.code : undefined;
};

/** How many requests were refused for `reason`, by the port's own metric. */
const refusals = async (reason: string): Promise<number> => {
  const { text } = await supertest(rig.operatorsUrl).get('/metrics').expect(200);
  return Number(
    new RegExp(`^banks_management_refusals_total{reason="${reason}"} (\\d+)$`, 'm').exec(text)?.[1],
  );
};

describe('Host', () => {
  test.each([
    '127.0.0.1',
    '127.0.0.1:3001',
    '10.1.2.3:80',
    '[::1]:3001',
    '[FE80::1]',
    'localhost',
    'LOCALHOST:3001',
    'localhost.',
    'banks-bff:3001',
    'BANKS_BFF',
    'ops.example.com',
    'Ops.Example.COM.:3001',
    'other.example.com',
  ])('%s is answered', async (host) => {
    await start({ MANAGEMENT_HOSTS: 'ops.example.com, Other.Example.com.' });
    expect((await ask('GET /healthz HTTP/1.1', `Host: ${host}`)).status).toBe(200);
  });

  test.each([
    'evil.example.net',
    'evil.example.net:3001',
    'x.ops.example.com',
    'ops.example.com.evil.net',
    'localhost.evil.net',
    'x.localhost',
    '127.0.0.1.evil.net',
    'com.',
    '127.1',
    'evil%2Eexample',
    '',
    ':3001',
  ])('%p is refused with 421, whatever is asked for', async (host) => {
    await start({ MANAGEMENT_HOSTS: 'ops.example.com' });
    const targets = ['GET /', 'GET /metrics', 'GET /healthz', 'GET /readyz', 'GET /status-page.js'];
    for (const target of [...targets, 'GET /status-page.css', 'GET /nothing', 'POST /refresh']) {
      const answer = await ask(`${target} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${TOKEN}`);
      expect(answer.status).toBe(421);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(codeOf(answer)).toBe('host_not_allowed');
      expect(answer.body).not.toContain('ops.example.com');
    }
    expect(rig.emulator.listCalls()).toBe(1);
    expect(await refusals('host')).toBe(8);
  });

  test('counts before Host where the target is absolute, and both have to be allowed', async () => {
    await start();
    const statusOf = async (target: string, host: string) =>
      (await ask(`GET ${target} HTTP/1.1`, `Host: ${host}`)).status;
    expect(await statusOf('http://localhost:3001/healthz', 'localhost')).toBe(200);
    expect(await statusOf('http://evil.example.net/healthz', 'localhost')).toBe(421);
    expect(await statusOf('http://localhost/healthz', 'evil.example.net')).toBe(421);
    expect(await statusOf('HTTP://a@localhost/healthz', 'localhost')).toBe(421);
  });

  test('missing or given twice is malformed, except that HTTP/1.0 may have none', async () => {
    await start();
    expect((await ask('GET /healthz HTTP/1.1')).status).toBe(400);
    expect((await ask('GET /healthz HTTP/1.1', 'Host: localhost', 'Host: localhost')).status).toBe(400);
    expect((await ask('GET /healthz HTTP/1.0')).status).toBe(200);
  });
});

describe('a page', () => {
  const post = (headers: Record<string, string>) =>
    supertest(rig.operatorsUrl)
      .post('/refresh')
      .set({ Host: 'localhost:3001', Authorization: `Bearer ${TOKEN}`, ...headers });

  test.each([
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site', Origin: 'http://localhost:3001' },
    { Origin: 'https://evil.example.net' },
    { Origin: 'http://localhost:3000' },
    { Origin: 'null' },
  ])('of another origin cannot refresh the list: %j', async (headers) => {
    await start();
    expect((await post(headers).expect(403)).body).toMatchObject({ code: 'cross_origin' });
    expect(rig.emulator.listCalls()).toBe(1);
    expect(await refusals('cross_origin')).toBe(1);
  });

  test.each([
    { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://localhost:3001' },
    { Origin: 'http://localhost:3001' },
    { Origin: 'https://localhost', Host: 'localhost:443' },
    {},
  ])('of this origin can, as a program can: %j', async (headers) => {
    await start();
    await post(headers).expect(200);
  });

  test('of another origin gets no permission to read anything', async () => {
    await start();
    for (const path of ['/', '/metrics', '/healthz', '/status-page.js']) {
      const { headers } = await supertest(rig.operatorsUrl)
        .get(path)
        .set('Origin', 'https://evil.example.net')
        .expect(200);
      expect(headers).not.toHaveProperty('access-control-allow-origin');
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers['cross-origin-resource-policy']).toBe('same-origin');
    }
  });
});

describe('a wrong token', () => {
  /** Sends a token from `address`; the whole 127.0.0.0/8 is this machine. */
  const guess = (token: string, address = '127.0.0.1') => {
    const { port } = new URL(rig.operatorsUrl);
    const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: address });
    sockets.push(socket);
    let text = '';
    socket.on('error', () => undefined).on('data', (chunk) => (text += String(chunk)));
    socket.write(`POST /refresh HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    return {
      socket,
      status: (): number => Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0),
      text: () => text,
    };
  };
  const areWaiting = (count: number) =>
    eventually(() => rig.clock.waits().filter((waitMs) => waitMs === 1_000).length === count);

  test('waits a second for its answer; the right one and none at all do not', async () => {
    await start();
    const wrong = guess('wrong');
    await areWaiting(1);
    const right = guess(TOKEN);
    await eventually(() => right.status() === 200);
    await supertest(rig.operatorsUrl).post('/refresh').expect(401);
    expect(wrong.status()).toBe(0);
    rig.clock.advance(1_000);
    await eventually(() => wrong.status() === 401);
    expect(wrong.text()).toMatch(/^www-authenticate: Bearer\r$/im);
    expect(await refusals('wrong_token')).toBe(1);
    expect(await refusals('no_token')).toBe(1);
  });

  test('has three companions of the same client; a further wrong one is refused at once, the right one never', async () => {
    await start();
    const wrong = Array.from({ length: 4 }, (_, index) => guess(`wrong${index}`));
    await areWaiting(4);
    // Going away does not make room.
    wrong[0]?.socket.destroy();
    const refused = guess('wrong');
    await eventually(() => refused.status() === 429);
    expect(refused.text()).toMatch(/^retry-after: 1\r$/im);
    expect(refused.text()).toContain('"code":"too_many_attempts"');
    expect(rig.emulator.listCalls()).toBe(1);
    expect(await refusals('too_many_attempts')).toBe(1);
    const right = guess(TOKEN);
    await eventually(() => right.status() === 200);

    const elsewhere = guess('wrong', '127.0.0.2');
    await areWaiting(5);
    rig.clock.advance(1_000);
    await eventually(() => [...wrong.slice(1), elsewhere].every(({ status }) => status() === 401));
  });

  test('counts for the whole /64 of an IPv6 address, which one client has', async () => {
    await start();
    const refused: string[] = [];
    const check = createTokenCheck({
      token: () => Promise.resolve(TOKEN),
      clock: rig.clock,
      onRefusal: (reason) => void refused.push(reason),
    });
    let address = '';
    const server = createServer(express().post('/refresh', check));
    // A machine has one loopback address of IPv6 only.
    server.on('connection', (socket) => Object.defineProperty(socket, 'remoteAddress', { value: address }));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const bound = server.address();
    const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0;
    const addresses = ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:5::', '2001:db8::ffff:1', '2001:db8::3'];
    for (const [index, next] of [...addresses, '2001:db8:0:1::1'].entries()) {
      address = next;
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      sockets.push(socket);
      socket.write('POST /refresh HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n\r\n');
      // oxlint-disable-next-line no-await-in-loop -- the order is that of the addresses
      await eventually(() => refused.length > index);
    }
    server.closeAllConnections();
    server.close();
    const wrong = Array.from({ length: 4 }, () => 'wrong_token');
    expect(refused).toEqual([...wrong, 'too_many_attempts', 'wrong_token']);
  });

  test('has 31 companions in all, so that waiting takes no more than 32 connections', async () => {
    await start();
    for (let count = 0; count < 32; count += 1) guess('wrong', `127.0.1.${1 + Math.floor(count / 4)}`);
    await areWaiting(32);
    const refused = guess('wrong', '127.0.2.1');
    await eventually(() => refused.status() === 429);
    // With eight other addresses guessing, too.
    const right = guess(TOKEN, '127.0.2.1');
    await eventually(() => right.status() === 200);
    expect(await refusals('wrong_token')).toBe(32);
  });

  test('is not guessed faster by pipelining', async () => {
    await start();
    const { socket, text } = guess('wrong');
    for (let count = 0; count < 9; count += 1)
      socket.write('POST /refresh HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n\r\n');
    for (let answers = 1; answers <= 10; answers += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one answer after the other is the point
      await areWaiting(1);
      rig.clock.advance(1_000);
      // oxlint-disable-next-line no-await-in-loop
      await eventually(() => text().match(/HTTP\/1.1 401/g)?.length === answers);
    }
    expect(socket.destroyed).toBe(false);
  });
});

describe('the listener is bounded as the public one', () => {
  test.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['a head of 100 kB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`, 431],
    ['300 headers', `GET / HTTP/1.1\r\nHost: a\r\n${'a: b\r\n'.repeat(300)}\r\n`, 431],
    ['a target of 10 kB', `GET /${'a'.repeat(10_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414],
    ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['an unknown expectation', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n\r\n', 417],
  ])('%s gets a problem', async (_name, bytes, status) => {
    await start();
    const [answer] = await sendRaw(rig.operatorsUrl, bytes);
    expect(answer?.status).toBe(status);
    expect(answer?.headers.get('content-type')).toBe('application/problem+json');
    expect(answer?.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('beyond 100 busy connections a new one gets 503, 20 of them at a time, and /healthz answers', async () => {
    await start();
    const { port } = new URL(rig.operatorsUrl);
    for (let count = 0; count < 100; count += 1) {
      const localAddress = `127.0.0.${2 + (count % 4)}`;
      const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress });
      socket.on('error', () => undefined);
      // An idle connection would give way.
      socket.write('GET / HTTP/1.1\r\n');
      sockets.push(socket);
    }
    await eventually(() => sockets.every((socket) => socket.bytesWritten > 0 && socket.writableLength === 0));
    // All of it is in the kernel; the server, in this process, accepts and reads one connection a turn of the event loop.
    // oxlint-disable-next-line no-await-in-loop
    for (let turn = 0; turn < 300; turn += 1) await setImmediate();
    expect((await ask('GET /metrics HTTP/1.1', 'Host: a')).status).toBe(503);
    expect((await ask('GET /healthz HTTP/1.1', 'Host: a')).status).toBe(200);
    for (let count = 0; count < 30; count += 1) {
      const localAddress = `127.0.1.${1 + (count % 2)}`;
      const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress });
      sockets.push(socket.on('error', () => undefined));
    }
    await eventually(() => sockets.filter((socket) => socket.destroyed).length === 10);
  });

  test('one address has 25 of them, so that others have their places whatever it does', async () => {
    await start();
    const { port } = new URL(rig.operatorsUrl);
    for (let count = 0; count < 125; count += 1) {
      const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: '127.0.0.2' });
      socket.on('error', () => undefined).write('GET / HTTP/1.1\r\n');
      sockets.push(socket);
    }
    await eventually(() => sockets.filter((socket) => socket.destroyed).length === 100);
    expect((await ask('GET / HTTP/1.1', 'Host: a')).status).toBe(200);
  });
});
