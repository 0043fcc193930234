import { afterEach, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import supertest from 'supertest';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { makeBanks } from '../helpers/banks.ts';
import { BANKS, UNUSABLE } from '../helpers/emulate.ts';
import { sendRaw, type RawAnswer } from '../helpers/raw-http.ts';
import { nextLoad, startLoadedRig, type Rig } from '../helpers/rig.ts';
import { connectionsOf } from '../helpers/server-sockets.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The management port: a forced refresh, what it accepts, and who may ask for it; pages of other
// origins, DNS rebinding, guessed tokens and broken clients.

let rig: Rig;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const TOKEN = 'operator-token-0123456789';

const start = async (env: EnvironmentVariables = {}): Promise<void> => {
  rig = await startLoadedRig({ env: { MANAGEMENT_TOKEN: TOKEN, ...env } });
};

/** One request as bytes. */
const ask = async (requestLine: string, ...lines: string[]): Promise<RawAnswer> => {
  const bytes = [requestLine, ...lines, 'Connection: close', '', ''].join('\r\n');
  const [answer] = await sendRaw(rig.managementUrl, bytes, {
    methods: [requestLine.split(' ')[0] ?? ''],
  });
  if (!answer) throw new Error(`no response to ${requestLine}`);
  return answer;
};

/** How many requests were refused for `reason`, by the port's own metric. */
const refusals = async (reason: string): Promise<number> => {
  const { text } = await supertest(rig.managementUrl).get('/metrics').expect(200);
  const sample = new RegExp(`^banks_management_refusals_total{reason="${reason}"} (\\d+)$`, 'm');
  return Number(sample.exec(text)?.[1]);
};

/** A connection from `localAddress`; the whole 127.0.0.0/8 is this machine. */
const open = (localAddress: string, bytes = ''): Socket => {
  const { port } = new URL(rig.managementUrl);
  const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress });
  sockets.push(socket.on('error', () => undefined));
  socket.write(bytes);
  return socket;
};

/** Asks for a refresh with the query, and returns the answer, which must have the status. */
const refresh = async (status: number, query = '', token = TOKEN) => {
  const request = supertest(rig.managementUrl).post(`/refresh${query}`);
  return (await request.set('Authorization', `Bearer ${token}`).expect(status)).body;
};
const bankCount = async () => (await supertest(rig.url).get('/banks').expect(200)).body.length;

test('a refresh loads now, and says whether anything changed', async () => {
  await start();
  expect(await refresh(200)).toEqual({
    outcome: 'unchanged',
    count: BANKS.length,
    rejected: 0,
    secretFiles: {},
  });
  await rig.emulator.behave('some-unusable');
  expect(await refresh(200)).toMatchObject({
    outcome: 'changed',
    count: BANKS.length - UNUSABLE,
    rejected: UNUSABLE,
  });
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
  const path = join(temporaryFolder(), 'token');
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
  rig.emulator.setBanks(makeBanks(60).map((bank) => ({ ...bank, name: null })));
  expect(await refresh(502)).toMatchObject({ code: 'refresh_failed', kind: 'shrunk' });
  expect(await refresh(502, '?accept=shrunk')).toMatchObject({
    kind: 'drifted',
    detail: expect.stringContaining(
      '; if that is right, POST /refresh?accept=shrunk,drifted accepts it',
    ),
  });
  expect(await bankCount()).toBe(BANKS.length);
  const accepted = await supertest(rig.managementUrl)
    .post('/refresh?accept=shrunk,drifted')
    .set('Authorization', `Bearer ${TOKEN}`)
    .set('X-Request-Id', 'not valid')
    .expect(200);
  expect(accepted.body).toMatchObject({ outcome: 'changed', count: 60 });
  expect(rig.service.list.status().cached?.decisions[0]?.requestId).toBe(
    accepted.headers['x-request-id'],
  );
  expect(await bankCount()).toBe(60);
  // Told once, and not with each renewal after it.
  await nextLoad(rig);
  expect(
    rig.messages().filter((message) => message === 'list: accepted by an operator'),
  ).toHaveLength(1);

  await rig.emulator.behave('few');
  expect(await refresh(502)).toMatchObject({ kind: 'shrunk' });
  for (const behaviour of ['empty', 'most-unusable', 'html', 'unavailable'] as const) {
    await rig.emulator.behave(behaviour);
    await refresh(502, '?accept=shrunk');
  }
  expect(await bankCount()).toBe(60);
});

test('a problem that names a field with another letter than those of ASCII is whole', async () => {
  rig = await startLoadedRig({
    env: { MANAGEMENT_TOKEN: TOKEN, BANK_FIELDS: 'code,razão' },
    before: (emulator) => emulator.setBanks(makeBanks(20).map((bank) => ({ ...bank, razão: 'a' }))),
  });
  rig.emulator.setBanks(makeBanks(20).map((bank) => ({ ...bank, razão: null })));
  expect(await refresh(502)).toMatchObject({
    kind: 'drifted',
    detail: expect.stringContaining('razão'),
  });
});

test('an unknown parameter or value of accept, another method and another path are refused', async () => {
  await start();
  const long = `shrunk&${'a'.repeat(200)}`;
  const values = ['everything', '', 'shrunk,everything', 'shrunk&accept=drifted', long];
  for (const query of [...values.map((value) => `accept=${value}`), 'acept=shrunk', 'force']) {
    const { detail } = await refresh(400, `?${query}`);
    expect(detail).toBe(
      'The only parameter is accept: shrunk or drifted, or both, separated by a comma.',
    );
  }
  expect(rig.emulator.listCalls()).toBe(1);
  const operators = supertest(rig.managementUrl);
  expect((await operators.get('/refresh').expect(405)).headers['allow']).toBe('POST');
  expect(rig.log()).toMatch(/"path":"\/refresh","statusCode":405,"code":"method_not_allowed"/);
  await operators.get('/readyz').expect(200);
  await operators.get('/banks').expect(404);
});

test('a Host of this port is answered', async () => {
  await start({ MANAGEMENT_HOSTS: 'ops.example.com, Other.Example.com.' });
  const addresses = ['127.0.0.1', '127.0.0.1:3001', '10.1.2.3:80', '[::1]:3001', '[FE80::1]'];
  const names = ['localhost', 'LOCALHOST:3001', 'localhost.', 'banks-bff:3001', 'BANKS_BFF'];
  const configured = ['ops.example.com', 'Ops.Example.COM.:3001', 'other.example.com'];
  for (const host of [...addresses, ...names, ...configured])
    expect([host, (await ask('GET /healthz HTTP/1.1', `Host: ${host}`)).status]).toEqual([
      host,
      200,
    ]);
});

test('a Host of any other name is refused with 421, whatever is asked for', async () => {
  await start({ MANAGEMENT_HOSTS: 'ops.example.com' });
  const refuse = async (request: string, host: string): Promise<void> => {
    const answer = await ask(
      `${request} HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: Bearer ${TOKEN}`,
    );
    expect([host, request, answer.status]).toEqual([host, request, 421]);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.body).toContain('"code":"host_not_allowed"');
    expect(answer.body).not.toContain('ops.example.com');
  };
  const others = ['evil.example.net:3001', 'x.ops.example.com', 'x.localhost', 'com.', '', ':3001'];
  const alike = ['ops.example.com.evil.net', 'localhost.evil.net', '127.0.0.1.evil.net', '127.1'];
  for (const host of [...others, ...alike, 'evil%2Eexample', "a';touch;'"])
    await refuse('GET /', host);
  const paths = [
    '/metrics',
    '/healthz',
    '/readyz',
    '/status-page.js',
    '/status-page.css',
    '/nothing',
  ];
  for (const path of paths) await refuse(`GET ${path}`, 'evil.example.net');
  await refuse('POST /refresh', 'evil.example.net');
  expect(rig.emulator.listCalls()).toBe(1);
  expect(await refusals('host')).toBe(19);
});

test('a Host may be missing in HTTP/1.0 alone, and counts together with an absolute target', async () => {
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

test('a page of another origin cannot refresh the list; one of this origin can, as a program can', async () => {
  await start();
  const rows: [status: number, headers: Record<string, string>][] = [
    [403, { 'Sec-Fetch-Site': 'cross-site' }],
    [403, { 'Sec-Fetch-Site': 'same-site', Origin: 'http://localhost:3001' }],
    [403, { Origin: 'https://evil.example.net' }],
    [403, { Origin: 'http://localhost:3000' }],
    [403, { Origin: 'null' }],
    [403, { Origin: `http://${'a@'.repeat(150)}localhost:3001` }],
    [200, { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://localhost:3001' }],
    [200, { 'Sec-Fetch-Site': 'none' }],
    [200, { Origin: 'http://localhost:3001' }],
    [200, { Origin: 'https://localhost', Host: 'localhost:443' }],
    [200, {}],
  ];
  for (const [status, headers] of rows) {
    const { body } = await supertest(rig.managementUrl)
      .post('/refresh')
      .set({ Host: 'localhost:3001', Authorization: `Bearer ${TOKEN}`, ...headers })
      .expect(status);
    expect([headers, body.code]).toEqual([headers, status === 403 ? 'cross_origin' : undefined]);
  }
  expect(rig.emulator.listCalls()).toBe(1 + 5);
  expect(await refusals('cross_origin')).toBe(6);
});

test('a page of another origin gets no permission to read anything, also where it may read the list', async () => {
  await start({ CORS_ORIGINS: 'https://evil.example.net' });
  for (const path of ['/', '/metrics', '/healthz', '/status-page.js']) {
    const request = supertest(rig.managementUrl)
      .get(path)
      .set('Origin', 'https://evil.example.net');
    const { headers } = await request.expect(200);
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(headers).not.toHaveProperty('x-powered-by');
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  }
});

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

test('a wrong token waits a second for its response; the right one and none at all do not', async () => {
  await start();
  const wrong = guess('wrong');
  await areWaiting(1);
  const right = guess(TOKEN);
  await eventually(() => right.status() === 200);
  await supertest(rig.managementUrl).post('/refresh').expect(401);
  expect(wrong.status()).toBe(0);
  rig.clock.advance(1_000);
  await eventually(() => wrong.status() === 401);
  expect(wrong.text()).toMatch(/^www-authenticate: Bearer\r$/im);
  expect([await refusals('wrong_token'), await refusals('no_token')]).toEqual([1, 1]);
});

test.each([
  ['three companions of the same client', 4, '127.0.1.1'],
  ['31 companions in all, so that waiting takes no more than 32 connections', 32, '127.0.2.1'],
])(
  'a wrong token has %s; a further one is refused at once, the right one never',
  async (_what, most, address) => {
    await start();
    const wrong = Array.from({ length: most }, (_, index) =>
      guess(`wrong${index}`, `127.0.1.${1 + Math.floor(index / 4)}`),
    );
    await areWaiting(most);
    // Going away does not make room.
    wrong[0]?.socket.resetAndDestroy();
    const refused = guess('wrong', address);
    await eventually(() => refused.status() === 429 && refused.socket.destroyed);
    expect(refused.text()).toMatch(/^retry-after: 1\r$/im);
    expect(refused.text()).toContain('"code":"too_many_attempts"');
    expect(await refusals('too_many_attempts')).toBe(1);
    expect(rig.emulator.listCalls()).toBe(1);
    const right = guess(TOKEN, address);
    await eventually(() => right.status() === 200);

    rig.clock.advance(1_000);
    await eventually(() => wrong.slice(1).every(({ status }) => status() === 401));
    // They have made room for as many.
    const guesses = Array.from({ length: most }, (_, index) =>
      guess(`again${index}`, `127.0.1.${1 + Math.floor(index / 4)}`),
    );
    await areWaiting(most);
    expect(guesses.map(({ status }) => status())).not.toContain(429);
  },
);

test('the end of a wait makes room for that client, and not for another one', async () => {
  await start();
  const first = guess('wrong', '127.0.1.1');
  await areWaiting(1);
  rig.clock.advance(500);
  for (let guesses = 0; guesses < 4; guesses += 1) guess('wrong', '127.0.1.2');
  await areWaiting(4);
  rig.clock.advance(500);
  await eventually(() => first.status() === 401);
  const fifth = guess('wrong', '127.0.1.2');
  await eventually(() => fifth.socket.destroyed);
  expect(fifth.status()).toBe(429);
});

test('a wrong token counts for the whole /64 of an IPv6 address, which one client has', async () => {
  await start();
  const ofOneClient = [
    '2001:db8::1',
    '2001:db8::2',
    '2001:db8:0:0:5::',
    '2001:db8::ffff:1',
    '2001:db8::3',
  ];
  const addresses = [...ofOneClient, '2001:db8:0:1::1'];
  // A machine has one loopback address of IPv6 only.
  const pretend = (message: unknown): void => {
    const { socket } = Object(message);
    if (String(socket.localPort) !== new URL(rig.managementUrl).port) return;
    Object.defineProperty(socket, 'remoteAddress', { value: addresses.shift() });
  };
  subscribe('net.server.socket', pretend);
  const guesses = addresses.map(() => guess('wrong'));
  await eventually(() => guesses.some(({ status }) => status() === 429));
  await areWaiting(5);
  unsubscribe('net.server.socket', pretend);
  expect(guesses.filter(({ status }) => status() === 429)).toHaveLength(1);
});

test('beyond 100 busy connections a new one gets 503, 20 of them at a time, and /healthz answers', async () => {
  await start();
  // Idle ones would give way.
  for (let count = 0; count < 100; count += 1)
    open(`127.0.0.${2 + (count % 4)}`, 'GET / HTTP/1.1\r\n');
  await eventually(() =>
    sockets.every((socket) => socket.bytesWritten > 0 && socket.writableLength === 0),
  );
  // All of it is in the kernel; the server, in this process, accepts and reads one connection a
  // turn of the event loop.
  // oxlint-disable-next-line no-await-in-loop
  for (let turn = 0; turn < 300; turn += 1) await setImmediate();
  // One address has 25 at most, of which none is idle: a further one is closed unread.
  const further = open('127.0.0.2', 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
  await eventually(() => further.destroyed);
  expect(further.bytesRead).toBe(0);
  const full = await ask('GET /metrics HTTP/1.1', 'Host: a');
  expect([full.status, full.headers.get('retry-after')]).toEqual([503, '1']);
  expect((await ask('GET /healthz HTTP/1.1', 'Host: a')).status).toBe(200);
  for (let count = 0; count < 30; count += 1) open(`127.0.1.${1 + (count % 2)}`);
  await eventually(() => sockets.filter((socket) => socket.destroyed).length === 11);
});

test('what the connections hold is bounded: the oldest request that waits gets 503, and when to come back', async () => {
  await start();
  // With what follows its long head, each takes some 190 kB of the 4 MB.
  const bytes = `${requestWith('wrong').replace('Host: a', `Host: a\r\nX-Request-Id: mine\r\nX: ${'x'.repeat(15_000)}`)}${'x'.repeat(60_000)}`;
  let text = '';
  const first = open('127.0.1.1', bytes).on('data', (chunk) => (text += String(chunk)));
  for (let count = 1; count < 32; count += 1) open(`127.0.1.${1 + Math.floor(count / 4)}`, bytes);
  await eventually(() => first.destroyed);
  expect(text).toMatch(/^HTTP\/1\.1 503 [^]*^retry-after: 1\r$[^]*"code":"overloaded"/im);
  expect(text).toContain('\r\nX-Request-Id: mine\r\n');
  // As of any other 5xx.
  expect(rig.log()).toMatch(
    /"severity":"WARNING".*"requestId":"mine".*"statusCode":503,"code":"overloaded"/,
  );
});

test('a probe is answered over capacity too, whatever its query is, and nothing else', async () => {
  await start();
  // In the middle of its head, no connection makes room for another.
  for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'])
    for (let count = 0; count < 25; count += 1) open(address, 'GET / HTTP/1.1\r\n');
  await eventually(() => connectionsOf(rig.managementUrl) === 100);
  const statusOf = async (target: string): Promise<number> =>
    (await ask(`GET ${target} HTTP/1.1`, 'Host: localhost')).status;
  expect(await statusOf('/healthz')).toBe(200);
  expect(await statusOf('/readyz?from=a-load-balancer')).toBe(200);
  expect(await statusOf('/healthz?')).toBe(200);
  expect(await statusOf('/metrics')).toBe(503);
});
