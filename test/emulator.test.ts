import { resolve } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { INTERNAL_DETAIL } from '../emulator/answers.ts';
import { listBehaviours, tokenBehaviours } from '../emulator/behaviours.ts';
import { DEFAULT_ACCESS_TOKEN, type Emulator } from '../emulator/emulator.ts';
import { closeLater } from './helpers/close-later.ts';
import { emulate } from './helpers/emulate.ts';
import { runNode } from './helpers/program.ts';
import { eventually } from './helpers/wait-until.ts';

// The emulator over real HTTP, as those use it who develop without credentials. That its failures
// are what they are called is seen by what the service makes of them: failures.test.ts,
// provider/token.test.ts.

const AUTHORIZED = { authorization: `Bearer ${DEFAULT_ACCESS_TOKEN}` };

let nowMs: number;
let emulator: Emulator;
beforeEach(async () => {
  nowMs = Date.parse('2026-09-01T12:00:00Z');
  const client = { clientId: 'a:b', clientSecret: 'c d+é%&:' };
  emulator = await emulate({ now: () => nowMs, tokenLifetimeSeconds: 60, ...client });
});

/** As RFC 6749, section 2.3.1, encodes both. */
const CLIENT = 'a%3Ab:c+d%2B%C3%A9%25%26%3A';

const askList = (headers: Record<string, string> = AUTHORIZED): Promise<Response> =>
  fetch(`${emulator.baseUrl}/api/v1/banks`, { headers, redirect: 'manual' });
const askToken = (client = CLIENT): Promise<Response> =>
  fetch(emulator.tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(client).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
const newToken = async (): Promise<Record<string, string>> => ({
  authorization: `Bearer ${Object(await (await askToken()).json()).access_token}`,
});
const control = (path: string, method = 'PUT'): Promise<Response> =>
  fetch(`${emulator.controlUrl}${path}`, { method });

test.each(['rate-limited', 'html'] as const)(
  'while it does %s, its response leaks what a service must not pass on',
  async (behaviour) => {
    await emulator.behave(behaviour);
    const text = await (await askList()).text();
    expect(text).toContain(INTERNAL_DETAIL);
    expect(text).toContain(`Bearer ${DEFAULT_ACCESS_TOKEN}`);
  },
);

test('the token endpoint issues a new token each time, which the list accepts until it expires or is revoked', async () => {
  const [one, two] = [await newToken(), await newToken()];
  expect(one).not.toEqual(two);
  nowMs += 59_999;
  expect((await askList(one)).status).toBe(200);
  emulator.revokeIssued();
  expect((await askList(one)).status).toBe(401);
  const three = await newToken();
  nowMs += 60_000;
  expect((await askList(three)).status).toBe(401);
});

test('the token endpoint refuses a client whose secret is wrong, or not encoded', async () => {
  for (const client of ['a%3Ab:wrong', 'a:b:c d+é%&:'])
    expect((await askToken(client)).status).toBe(401);
});

test('the control page says in plain text what the provider does and can do, without a secret', async () => {
  await askList();
  const page = await control('/', 'GET');
  const text = await page.text();
  expect(page.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(text).toContain('now: healthy, requests so far: 1\n');
  for (const name of Object.keys({ ...listBehaviours, ...tokenBehaviours }))
    expect(text).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
  expect(text).not.toContain(DEFAULT_ACCESS_TOKEN);
});

test('the control API switches behaviours, and stays reachable while the provider refuses connections', async () => {
  await control('/behaviour/unavailable?retryAfter=7');
  expect((await askList()).headers.get('retry-after')).toBe('7');
  await control('/behaviour/unavailable');
  expect((await askList()).headers.get('retry-after')).toBeNull();
  await control('/token-behaviour/server-error');
  expect((await askToken()).status).toBe(500);
  await control('/behaviour/refuse');
  await expect(askList()).rejects.toThrow('fetch failed');
  await control('/behaviour/healthy');
  expect((await askList()).status).toBe(200);
  // On the same address as before, and on no other.
  const { port } = new URL(emulator.baseUrl);
  await expect(fetch(`http://127.0.0.2:${port}/`)).rejects.toThrow('fetch failed');
});

test('a request that hangs is cut off when connections are refused', async () => {
  await emulator.behave('hang');
  const failure = askList().then(
    () => undefined,
    (error: unknown) => String(error),
  );
  await eventually(() => emulator.listCalls() === 1);
  expect((await control('/behaviour/refuse')).status).toBe(200);
  expect(await failure).toContain('fetch failed');
});

test.each([
  ['/behaviour/toString', 404],
  ['/token-behaviour/refuse', 404],
  ['/', 405],
  ['/behaviour/unavailable?retryAfter=%0d%0aset-cookie:x', 400],
])('the control API answers PUT %s with %i and changes nothing', async (path, status) => {
  expect((await control(path)).status).toBe(status);
  expect(emulator).toMatchObject({ behaviour: 'healthy', tokenBehaviour: 'healthy' });
});

test.each(['POST', 'GET', 'OPTIONS'])(
  'the control API switches nothing for a %s, which a page of another origin can send',
  async (method) => {
    const answer = await control('/behaviour/unavailable', method);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    expect((await control('/token-behaviour/server-error', method)).status).toBe(405);
    expect(emulator).toMatchObject({ behaviour: 'healthy', tokenBehaviour: 'healthy' });
  },
);

test.each([
  [
    'in a production environment',
    { PROVIDER_ENVIRONMENT: 'production' },
    'PROVIDER_ENVIRONMENT is production',
  ],
  ['on a port in use', {}, 'is in use; set EMULATOR_PORT or EMULATOR_CONTROL_PORT'],
])('the program does not start %s', async (_where, env, message) => {
  const { port } = new URL(emulator.baseUrl);
  const { exit, output } = runNode(resolve('dist/emulator/main.js'), {
    env: { EMULATOR_PORT: '0', EMULATOR_CONTROL_PORT: port, ...env },
  });
  expect(await exit).toBe(1);
  expect(output()).toContain('The emulator cannot start: ');
  expect(output()).toContain(message);
});

test('the program listens on 127.0.0.1 alone, unless it is told otherwise', async () => {
  const { says, end } = runNode(resolve('dist/emulator/main.js'), {
    env: { EMULATOR_PORT: '0', EMULATOR_CONTROL_PORT: '0' },
  });
  closeLater(() => void end());
  const [, banksPort, controlPort] = await says(
    /http:\/\/127\.0\.0\.1:(\d+)\/api\/v1\/banks[^]*Control API +http:\/\/127\.0\.0\.1:(\d+)\//,
  );
  for (const port of [banksPort, controlPort]) {
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBeLessThan(500);
    await expect(fetch(`http://127.0.0.2:${port}/`)).rejects.toThrow('fetch failed');
  }
});
