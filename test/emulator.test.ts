import { resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { INTERNAL_DETAIL } from '../emulator/answers.ts';
import { listBehaviours, type Behaviour } from '../emulator/behaviours.ts';
import { DEFAULT_ACCESS_TOKEN, startEmulator, type Emulator } from '../emulator/emulator.ts';
import { runNode } from './kit/program.ts';

// The emulator over real HTTP, as those use it who develop without credentials. That its failures are what they are called
// is seen by what the service makes of them: failures.test.ts, provider/access-token.test.ts.

const AUTHORIZED = { authorization: `Bearer ${DEFAULT_ACCESS_TOKEN}` };

let nowMs: number;
let emulator: Emulator;
beforeEach(async () => {
  nowMs = Date.parse('2026-09-01T12:00:00Z');
  emulator = await startEmulator({
    now: () => nowMs,
    tokenLifetimeSeconds: 60,
    clientId: 'a:b',
    clientSecret: 'c d+é%&:',
  });
});
afterEach(() => emulator.close());

const askList = (headers: Record<string, string> = AUTHORIZED): Promise<Response> =>
  fetch(`${emulator.baseUrl}/api/v1/banks`, { headers, redirect: 'manual' });

// As RFC 6749, section 2.3.1, encodes both.
const CLIENT = `Basic ${Buffer.from('a%3Ab:c+d%2B%C3%A9%25%26%3A').toString('base64')}`;
const askToken = (form = 'grant_type=client_credentials', authorization = CLIENT): Promise<Response> =>
  fetch(emulator.tokenUrl, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
    body: form,
  });
const issuedBy = async (answer: Response): Promise<Record<string, string>> => ({
  authorization: `Bearer ${Object(await answer.json()).access_token}`,
});

const control = (path: string, method = 'PUT'): Promise<Response> =>
  fetch(`${emulator.controlUrl}${path}`, { method });

describe('the list', () => {
  test.each<[Behaviour, number]>([
    ['rate-limited', 429],
    ['html', 200],
  ])('while it does %s, it answers %d, and leaks what a service must not pass on', async (name, status) => {
    await emulator.behave(name);
    const answer = await askList();
    expect(answer.status).toBe(status);
    const text = await answer.text();
    expect(text).toContain(INTERNAL_DETAIL);
    expect(text).toContain(`Bearer ${DEFAULT_ACCESS_TOKEN}`);
  });
});

describe('the token endpoint', () => {
  test('issues a new token each time, which the list accepts until it expires or is revoked', async () => {
    const [one, two] = [await issuedBy(await askToken()), await issuedBy(await askToken())];
    expect(one).not.toEqual(two);
    nowMs += 59_999;
    expect((await askList(one)).status).toBe(200);
    emulator.revokeIssued();
    expect((await askList(one)).status).toBe(401);
    const three = await issuedBy(await askToken());
    nowMs += 60_000;
    expect((await askList(three)).status).toBe(401);
  });

  test.each([
    ['another grant type', 'grant_type=password', 'unsupported_grant_type'],
    ['two grant types', 'grant_type=client_credentials&grant_type=client_credentials', 'invalid_request'],
    ['more than 16 KiB', `grant_type=client_credentials&x=${'x'.repeat(20_000)}`, 'invalid_request'],
  ])('refuses a form with %s', async (_what, form, error) => {
    const answer = await askToken(form);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error });
  });

  test('refuses a client whose secret is wrong, or not encoded', async () => {
    for (const credentials of ['a%3Ab:wrong', 'a:b:c d+é%&:']) {
      const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
      expect((await askToken(undefined, authorization)).status).toBe(401);
    }
  });
});

describe('the control API', () => {
  test('lists the behaviours and counts the calls, without a secret', async () => {
    await askList();
    const text = await (await control('/', 'GET')).text();
    expect(JSON.parse(text)).toMatchObject({ behaviour: 'healthy', calls: { list: 1 } });
    expect(Object.keys(JSON.parse(text).behaviours)).toEqual(Object.keys(listBehaviours));
    expect(text).not.toContain(DEFAULT_ACCESS_TOKEN);
  });

  test('switches behaviours, and stays reachable while the provider refuses connections', async () => {
    await control('/behaviour/unavailable?retryAfter=7');
    expect((await askList()).headers.get('retry-after')).toBe('7');
    await control('/token-behaviour/server-error');
    expect((await askToken()).status).toBe(500);
    await control('/behaviour/refuse');
    await expect(askList()).rejects.toThrow('fetch failed');
    await control('/behaviour/healthy');
    expect((await askList()).status).toBe(200);
  });

  test.each([
    ['/behaviour/toString', 404],
    ['/token-behaviour/refuse', 404],
    ['/elsewhere', 404],
    ['/', 405],
    ['/behaviour/slow?delayMs=soon', 400],
    ['/behaviour/unavailable?retryAfter=%0d%0aset-cookie:x', 400],
  ])('answers PUT %s with %i and changes nothing', async (path, status) => {
    expect((await control(path)).status).toBe(status);
    expect(emulator).toMatchObject({ behaviour: 'healthy', tokenBehaviour: 'healthy' });
  });
});

describe('the program', () => {
  test.each([
    [
      'in a production environment',
      { PROVIDER_ENVIRONMENT: 'Production' },
      'PROVIDER_ENVIRONMENT is production',
    ],
    ['on a port that is none', { EMULATOR_PORT: '70000' }, 'EMULATOR_PORT must be a port from 0 to 65535'],
    ['on a port in use', {}, 'is in use; set EMULATOR_PORT or EMULATOR_CONTROL_PORT'],
  ])('does not start %s', async (_where, env, message) => {
    const { port } = new URL(emulator.baseUrl);
    const { exit, output } = runNode(resolve('dist/emulator/main.js'), {
      env: { EMULATOR_PORT: '0', EMULATOR_CONTROL_PORT: port, ...env },
    });
    expect(await exit).toBe(1);
    expect(output()).toContain(`The emulator cannot start: `);
    expect(output()).toContain(message);
  });
});
