import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import supertest from 'supertest';
import { startEmulator, type Emulator } from '../emulator/emulator.ts';
import type { Environment } from '../src/config/reader.ts';
import { VARIABLE_NAMES } from '../src/config/variables.ts';
import { createAuthority } from './helpers/authority.ts';
import { findFreePort, listenOn } from './helpers/free-port.ts';
import { describeWithRedis, startRedis, type RedisServer } from './helpers/redis-server.ts';
import { openRig, type Rig } from './helpers/rig.ts';
import { startTlsFront, type TlsFront } from './helpers/tls-front.ts';
import { createTunnels } from './helpers/tunnel.ts';
import { eventually } from './helpers/wait-until.ts';

// Every variable at once, each with a value that is neither its default nor another one's, and each
// seen from outside: a value that the composition drops, or hands to the wrong part, fails here.
// Values in files, and NO_PROXY, are in the tests of the parts that read them.

const MINUTE = 60_000;
const TOKEN = 'token-of-the-token-endpoint';
const AUTHORIZED = { Authorization: 'Bearer management-token-4711' };
/** Fewer banks than the emulator has, for a small PROVIDER_MAX_BODY. */
const banks = (count: number, named = count) =>
  Array.from({ length: count }, (_, index) => ({
    ispb: String(10_000_000 + index),
    ...(index < named && { name: `Bank ${index}` }),
    internal: 'not for browsers',
  }));

describeWithRedis('every variable', () => {
  const authority = createAuthority();
  const folder = mkdtempSync(join(tmpdir(), 'banks-wiring-'));
  const closers: (() => unknown)[] = [];
  const tunnels = { http: [] as string[], https: [] as string[] };
  const grants: { readonly client: string | undefined; readonly body: unknown }[] = [];
  let emulator: Emulator;
  let front: TlsFront;
  let redis: RedisServer;
  let env: Environment;
  let rig: Rig;

  const listen = async (server: Server): Promise<string> => {
    closers.push(() => server.close());
    return `http://127.0.0.1:${await listenOn(server)}`;
  };
  const startProxy = (targets: string[]): Promise<string> =>
    listen(createTunnels({ onConnect: ({ url = '' }) => void targets.push(url) }));
  const startTokenEndpoint = async (): Promise<string> => {
    const grant = JSON.stringify({ access_token: TOKEN, token_type: 'Bearer', expires_in: 86_400 });
    const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
      grants.push({ client: req.headers.authorization, body: JSON.parse(await text(req)) });
      res.setHeader('content-type', 'application/json').end(grant);
    };
    const endpoint = createServer((req, res) => void answer(req, res));
    return `${await listen(endpoint)}/token`;
  };
  beforeAll(async () => {
    emulator = await startEmulator({ accessTokens: [TOKEN], banks: banks(10) });
    await emulator.behave('envelope');
    const pair = authority.issue('localhost');
    front = await startTlsFront({ to: emulator.baseUrl, pair, clientAuthority: authority.cert });
    redis = await startRedis();
    closers.push(
      () => emulator.close(),
      () => front.close(),
      () => redis.kill(),
    );
    const client = authority.issue('the service');
    // Both at once, or they may be the same.
    const [port, managementPort] = await Promise.all([findFreePort(), findFreePort()]);
    env = {
      PORT: String(port),
      HOST: '127.0.0.2',
      MANAGEMENT_PORT: String(managementPort),
      MANAGEMENT_HOST: '127.0.0.3',
      MANAGEMENT_HOSTS: 'operators.example',
      MANAGEMENT_TOKEN: 'management-token-4711',
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: front.url,
      PROVIDER_PRODUCTION_BASE_URL: 'https://production.invalid',
      PROVIDER_ACCESS_TOKEN: '',
      PROVIDER_TOKEN_URL: await startTokenEndpoint(),
      PROVIDER_CLIENT_ID: 'aClient',
      PROVIDER_CLIENT_SECRET: 'clientSecret0815',
      PROVIDER_TOKEN_SCOPE: 'banks:read',
      PROVIDER_TOKEN_FORMAT: 'json',
      PROVIDER_TOKEN_AUTH: 'post',
      PROVIDER_TLS_CA_FILE: authority.certFile,
      PROVIDER_TLS_CERT_FILE: client.certFile,
      PROVIDER_TLS_KEY_FILE: client.keyFile,
      HTTP_PROXY: await startProxy(tunnels.http),
      HTTPS_PROXY: await startProxy(tunnels.https),
      NO_PROXY: 'elsewhere.example',
      PROVIDER_TIMEOUT: '1700ms',
      PROVIDER_MAX_BODY: '4kb',
      BANK_LIST: 'data',
      BANK_FIELDS: 'id:ispb,name,logo?',
      BANK_REQUIRED_FIELDS: 'id',
      CACHE_TTL: '40m',
      CACHE_MAX_STALE: '90m',
      CACHE_SNAPSHOT_FILE: join(folder, 'snapshot'),
      CACHE_REDIS_URL: redis.url,
      CACHE_SIGNING_KEY: 'signing-key-of-32-characters-0001',
      GUARD_MIN_BANKS: '3',
      GUARD_MAX_SHRINK: '35%',
      GUARD_MAX_DRIFT: '45%',
      BROWSER_MAX_AGE: '7m',
      KEEP_ALIVE_TIMEOUT: '33s',
      CORS_ORIGINS: 'https://app.example',
      TRUST_PROXY: '127.0.0.0/8',
      HOT_PATH: 'off',
      LOG_LEVEL: 'debug',
      SHUTDOWN_GRACE: '13s',
    };
    rig = await openRig({ provider: emulator, env });
    await eventually(() => rig.service.list.served() !== undefined);
  });
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });

  const getBanks = () => supertest(rig.url).get('/banks');
  /** The provider sends `list` from now on; what a refresh then says. */
  const refreshWith = async (list: readonly unknown[]): Promise<string> => {
    emulator.setBanks(list);
    const { body } = await supertest(rig.operatorsUrl).post('/refresh').set(AUTHORIZED);
    return body.outcome ?? body.kind ?? body.code;
  };

  test('is here, or names a file of one that is', () => {
    const isHere = (name: string): boolean => name.replace(/_FILE$/, '') in env || name in env;
    expect(VARIABLE_NAMES.filter((name) => !isHere(name))).toEqual([]);
  });

  test('of the listeners', async () => {
    expect(rig.url).toBe(`http://127.0.0.2:${env['PORT']}`);
    expect(rig.operatorsUrl).toBe(`http://127.0.0.3:${env['MANAGEMENT_PORT']}`);
    const statusFor = (host: string) =>
      supertest(rig.operatorsUrl).get('/healthz').set('Host', host);
    expect((await statusFor('operators.example')).status).toBe(200);
    expect((await statusFor('elsewhere.example')).status).toBe(421);
  });

  test('of the way to the token and to the list', () => {
    expect(grants[0]).toEqual({
      client: undefined,
      body: {
        grant_type: 'client_credentials',
        scope: 'banks:read',
        client_id: 'aClient',
        client_secret: 'clientSecret0815',
      },
    });
    expect(emulator.calls[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(front.clients[0]).toBe('the service');
    expect(tunnels.https).toEqual([`localhost:${front.port}`]);
    expect(tunnels.http).toEqual([new URL(env['PROVIDER_TOKEN_URL'] ?? '').host]);
  });

  test('of the answers', async () => {
    let throughNode = 0;
    const onRequest = (): void => void (throughNode += 1);
    subscribe('http.server.request.start', onRequest);
    const { body, headers } = await getBanks()
      .set('Origin', 'https://app.example')
      .set('X-Forwarded-For', '203.0.113.7')
      .set('Connection', 'keep-alive');
    unsubscribe('http.server.request.start', onRequest);
    expect(throughNode).toBe(1);
    expect(body[0]).toEqual({ id: '10000000', name: 'Bank 0', logo: null });
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'cache-control': 'public, max-age=420, stale-while-revalidate=420, stale-if-error=5400',
      'content-type': 'application/json; charset=utf-8',
      'keep-alive': 'timeout=33',
    });
    await supertest(rig.url).get('/healthz');
    await eventually(() => rig.log().includes('203.0.113.7'));
    expect(rig.log()).toContain('"path":"/healthz"');
  });

  test('of the guard and the reader', async () => {
    expect(await refreshWith(banks(10, 6))).toBe('changed');
    expect(await refreshWith(banks(10))).toBe('changed');
    expect(await refreshWith(banks(10, 5))).toBe('drifted');
    expect(await refreshWith(banks(7))).toBe('changed');
    expect(await refreshWith(banks(6))).toBe('shrunk');
    expect(await refreshWith(banks(2))).toBe('too_few');
    expect(await refreshWith([...banks(10), { name: 'without an id' }])).toBe('changed');
    expect((await getBanks()).body).toHaveLength(10);
    expect(await refreshWith(banks(70))).toBe('too_large');
    expect(await refreshWith(banks(9))).toBe('changed');
  });

  test('of the stores', async () => {
    await eventually(() =>
      readFileSync(env['CACHE_SNAPSHOT_FILE'] ?? '', 'utf8').includes('Bank 8'),
    );
    const key = /banks-bff\S+:list/.exec(await redis.command('keys *'))?.[0];
    const leftMs = Number(/\d+/.exec(await redis.command(`pttl ${key}`))?.[0]);
    expect(leftMs).toBeGreaterThan(129 * MINUTE);
    expect(leftMs).toBeLessThanOrEqual(130 * MINUTE);
  });

  test('of the times', async () => {
    const { list } = rig.service;
    const hasPlanned = () => eventually(() => list.status().nextLoadInMs > 0);
    const calls = emulator.listCalls();
    await emulator.behave('hang');
    await hasPlanned();
    rig.clock.advance(list.status().nextLoadInMs);
    await eventually(() => emulator.listCalls() === calls + 1);
    rig.clock.advance(1_699);
    expect(list.status().failure).toBeUndefined();
    rig.clock.advance(1);
    await eventually(() => list.status().failure?.kind === 'timeout');
    // Otherwise the next attempt begins after the skip, and hangs in time that nobody moves.
    await hasPlanned();
    rig.clock.skip(130 * MINUTE - (list.status().ageMs ?? 0));
    await getBanks().expect(200);
    rig.clock.advance(1);
    // The request waits for the load that has become due.
    const status = getBanks().then((answer) => answer.status);
    await eventually(() => emulator.listCalls() === calls + 2);
    rig.clock.advance(1_700);
    expect(await status).toBe(504);
  });

  test('of the end', async () => {
    await rig.close();
    expect(rig.log()).toContain('"graceMs":13000');
  });
});
