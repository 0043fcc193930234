import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import express, { type RequestHandler } from 'express';
import supertest from 'supertest';
import type { Environment } from '../../src/config/reader.ts';
import { createTokenCheck } from '../../src/operators/authorization.ts';
import { toSecret } from '../../src/secrets/secret.ts';
import { sendRaw, type RawAnswer } from '../kit/raw-http.ts';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// The management port against pages of other origins, DNS rebinding, guessed tokens and broken clients.

let rig: Rig;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await rig.close();
});

const TOKEN = 'operator-token-0123456789';

const start = async (env: Environment = {}): Promise<void> => {
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

/** How many requests were refused for `reason`, by the port's own metric. */
const refusals = async (reason: string): Promise<number> => {
  const { text } = await supertest(rig.operatorsUrl).get('/metrics').expect(200);
  const sample = new RegExp(`^banks_management_refusals_total{reason="${reason}"} (\\d+)$`, 'm');
  return Number(sample.exec(text)?.[1]);
};

/** A connection from `localAddress`; the whole 127.0.0.0/8 is this machine. */
const open = (localAddress: string, bytes = ''): Socket => {
  const { port } = new URL(rig.operatorsUrl);
  const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress });
  sockets.push(socket.on('error', () => undefined));
  socket.write(bytes);
  return socket;
};

describe('a Host', () => {
  test('of this port is answered', async () => {
    await start({ MANAGEMENT_HOSTS: 'ops.example.com, Other.Example.com.' });
    const addresses = ['127.0.0.1', '127.0.0.1:3001', '10.1.2.3:80', '[::1]:3001', '[FE80::1]'];
    const names = ['localhost', 'LOCALHOST:3001', 'localhost.', 'banks-bff:3001', 'BANKS_BFF'];
    const configured = ['ops.example.com', 'Ops.Example.COM.:3001', 'other.example.com'];
    for (const host of [...addresses, ...names, ...configured])
      expect([host, (await ask('GET /healthz HTTP/1.1', `Host: ${host}`)).status]).toEqual([host, 200]);
  });

  test('of any other name is refused with 421, whatever is asked for', async () => {
    await start({ MANAGEMENT_HOSTS: 'ops.example.com' });
    const refuse = async (request: string, host: string): Promise<void> => {
      const answer = await ask(`${request} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${TOKEN}`);
      expect([host, request, answer.status]).toEqual([host, request, 421]);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(answer.body).toContain('"code":"host_not_allowed"');
      expect(answer.body).not.toContain('ops.example.com');
    };
    const others = ['evil.example.net:3001', 'x.ops.example.com', 'x.localhost', 'com.', '', ':3001'];
    const alike = ['ops.example.com.evil.net', 'localhost.evil.net', '127.0.0.1.evil.net', '127.1'];
    for (const host of [...others, ...alike, 'evil%2Eexample', "a';touch;'"]) await refuse('GET /', host);
    const paths = ['/metrics', '/healthz', '/readyz', '/status-page.js', '/status-page.css', '/nothing'];
    for (const path of paths) await refuse(`GET ${path}`, 'evil.example.net');
    await refuse('POST /refresh', 'evil.example.net');
    expect(rig.emulator.listCalls()).toBe(1);
    expect(await refusals('host')).toBe(19);
  });

  test('may be missing in HTTP/1.0 alone, and counts together with an absolute target', async () => {
    await start();
    const rows: [status: number, requestLine: string, ...hosts: string[]][] = [
      [200, 'GET http://localhost:3001/healthz HTTP/1.1', 'localhost'],
      [421, 'GET http://evil.example.net/healthz HTTP/1.1', 'localhost'],
      [421, 'GET http://localhost/healthz HTTP/1.1', 'evil.example.net'],
      [421, 'GET HTTP://a@localhost/healthz HTTP/1.1', 'localhost'],
      [400, 'GET /healthz HTTP/1.1'],
      [400, 'GET /healthz HTTP/1.1', 'localhost', 'localhost'],
      [200, 'GET /healthz HTTP/1.0'],
    ];
    for (const [status, requestLine, ...hosts] of rows) {
      const answer = await ask(requestLine, ...hosts.map((host) => `Host: ${host}`));
      expect([answer.status, requestLine, ...hosts]).toEqual([status, requestLine, ...hosts]);
    }
  });
});

describe('a page', () => {
  test('of another origin cannot refresh the list; one of this origin can, as a program can', async () => {
    await start();
    const rows: [status: number, headers: Record<string, string>][] = [
      [403, { 'Sec-Fetch-Site': 'cross-site' }],
      [403, { 'Sec-Fetch-Site': 'same-site', Origin: 'http://localhost:3001' }],
      [403, { Origin: 'https://evil.example.net' }],
      [403, { Origin: 'http://localhost:3000' }],
      [403, { Origin: 'null' }],
      [200, { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://localhost:3001' }],
      [200, { 'Sec-Fetch-Site': 'none' }],
      [200, { Origin: 'http://localhost:3001' }],
      [200, { Origin: 'https://localhost', Host: 'localhost:443' }],
      [200, {}],
    ];
    for (const [status, headers] of rows) {
      const { body } = await supertest(rig.operatorsUrl)
        .post('/refresh')
        .set({ Host: 'localhost:3001', Authorization: `Bearer ${TOKEN}`, ...headers })
        .expect(status);
      expect([headers, body.code]).toEqual([headers, status === 403 ? 'cross_origin' : undefined]);
    }
    expect(rig.emulator.listCalls()).toBe(1 + 5);
    expect(await refusals('cross_origin')).toBe(5);
  });

  test('of another origin gets no permission to read anything', async () => {
    await start();
    for (const path of ['/', '/metrics', '/healthz', '/status-page.js']) {
      const request = supertest(rig.operatorsUrl).get(path).set('Origin', 'https://evil.example.net');
      const { headers } = await request.expect(200);
      expect(headers).not.toHaveProperty('access-control-allow-origin');
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers['cross-origin-resource-policy']).toBe('same-origin');
    }
  });
});

describe('a wrong token', () => {
  /** Anybody can choose what X-Forwarded-For says. */
  const requestWith = (token: string): string =>
    `POST /refresh HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nX-Forwarded-For: ${token}\r\n\r\n`;
  const guess = (token: string, address = '127.0.0.1') => {
    let text = '';
    const socket = open(address, requestWith(token)).on('data', (chunk) => (text += String(chunk)));
    const status = (): number => Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0);
    return { socket, status, text: () => text };
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
    expect([await refusals('wrong_token'), await refusals('no_token')]).toEqual([1, 1]);
  });

  test('has three companions of the same client; a further wrong one is refused at once, the right one never', async () => {
    await start();
    const wrong = Array.from({ length: 4 }, (_, index) => guess(`wrong${index}`));
    await areWaiting(4);
    // Going away does not make room.
    wrong[0]?.socket.destroy();
    const refused = guess('wrong');
    await eventually(() => refused.status() === 429 && refused.socket.destroyed);
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
    // They have made room.
    guess('wrong');
    await areWaiting(1);
  });

  test('counts for the whole /64 of an IPv6 address, which one client has', async () => {
    await start();
    const refused: string[] = [];
    const check = createTokenCheck(
      toSecret(TOKEN),
      { clock: rig.clock, addSecret: () => undefined },
      (reason) => void refused.push(reason),
    );
    // A machine has one loopback address of IPv6 only.
    const pretend: RequestHandler = ({ socket, headers }, _res, next) => {
      Object.defineProperty(socket, 'remoteAddress', { value: headers.from });
      next();
    };
    const app = express().use(pretend, check);
    const addresses = ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:5::', '2001:db8::ffff:1', '2001:db8::3'];
    const guesses: unknown[] = [];
    for (const from of [...addresses, '2001:db8:0:1::1']) {
      guesses.push(
        supertest(app)
          .post('/')
          .set({ from, authorization: 'Bearer wrong' })
          .then(({ status }) => status),
      );
      // oxlint-disable-next-line no-await-in-loop -- the order is that of the addresses
      await eventually(() => refused.length === guesses.length);
    }
    rig.clock.advance(1_000);
    await Promise.all(guesses);
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
    for (let count = 0; count < 9; count += 1) socket.write(requestWith('wrong'));
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

test('one address has 25 connections, so that others have their places whatever it does', async () => {
  await start();
  for (let count = 0; count < 125; count += 1) open('127.0.0.2', 'GET / HTTP/1.1\r\n');
  await eventually(() => sockets.filter((socket) => socket.destroyed).length === 100);
  expect((await ask('GET / HTTP/1.1', 'Host: a')).status).toBe(200);
});

test('beyond 100 busy connections a new one gets 503, 20 of them at a time, and /healthz answers', async () => {
  await start();
  // Idle ones would give way.
  for (let count = 0; count < 100; count += 1) open(`127.0.0.${2 + (count % 4)}`, 'GET / HTTP/1.1\r\n');
  await eventually(() => sockets.every((socket) => socket.bytesWritten > 0 && socket.writableLength === 0));
  // All of it is in the kernel; the server, in this process, accepts and reads one connection a turn of the event loop.
  // oxlint-disable-next-line no-await-in-loop
  for (let turn = 0; turn < 300; turn += 1) await setImmediate();
  const full = await ask('GET /metrics HTTP/1.1', 'Host: a');
  expect([full.status, full.headers.get('retry-after')]).toEqual([503, '1']);
  expect((await ask('GET /healthz HTTP/1.1', 'Host: a')).status).toBe(200);
  for (let count = 0; count < 30; count += 1) open(`127.0.1.${1 + (count % 2)}`);
  await eventually(() => sockets.filter((socket) => socket.destroyed).length === 10);
});
