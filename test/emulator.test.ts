import { resolve } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { INTERNAL_DETAIL } from '../emulator/answers.ts';
import { listBehaviours } from '../emulator/behaviours.ts';
import { createCallLines } from '../emulator/call-lines.ts';
import { DEFAULT_ACCESS_TOKEN, type Emulator } from '../emulator/emulator.ts';
import { closeLater } from './helpers/close-later.ts';
import { emulate } from './helpers/emulate.ts';
import { runNode } from './helpers/program.ts';
import { openRaw } from './helpers/raw-http.ts';
import { eventually } from './helpers/wait-until.ts';

// The emulator over real HTTP, as those use it who develop without credentials. That its failures
// are what they are called is seen by what the service makes of them: failures.test.ts,
// provider/access-token.test.ts.

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

test('a token endpoint that requires JSON accepts an object, and no other JSON', async () => {
  await control('/token-behaviour/json-or-415');
  const statusFor = async (body: unknown): Promise<number> => {
    const authorization = `Basic ${Buffer.from(CLIENT).toString('base64')}`;
    const headers = { authorization, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(emulator.tokenUrl, init)).status;
  };
  expect(await statusFor({ grant_type: 'client_credentials' })).toBe(200);
  for (const other of [['client_credentials'], [], null, 'client_credentials'])
    expect(await statusFor(other)).toBe(415);
});

test('the control API lists the behaviours and counts the calls, without a secret', async () => {
  await askList();
  const text = await (await control('/', 'GET')).text();
  expect(JSON.parse(text)).toMatchObject({ behaviour: 'healthy', calls: { list: 1 } });
  expect(Object.keys(JSON.parse(text).behaviours)).toEqual(Object.keys(listBehaviours));
  expect(text).not.toContain(DEFAULT_ACCESS_TOKEN);
});

test('the control API switches behaviours, and stays reachable while the provider refuses connections', async () => {
  await control('/behaviour/unavailable?retryAfter=7');
  expect((await askList()).headers.get('retry-after')).toBe('7');
  await control('/token-behaviour/server-error');
  expect((await askToken()).status).toBe(500);
  await control('/behaviour/refuse');
  await expect(askList()).rejects.toThrow('fetch failed');
  await control('/behaviour/healthy');
  expect((await askList()).status).toBe(200);
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

test('a call is a short line on the terminal, and nothing that could control that gets into it', async () => {
  const lines: string[] = [];
  const onCallEnd = createCallLines(
    (line) => void lines.push(line),
    () => nowMs,
  );
  const { baseUrl } = await emulate({ onCallEnd });
  for (const byte of ['\u001b', '\u007f', '\u009b']) {
    const { socket, received } = await openRaw(baseUrl);
    socket.write(Buffer.from(`GET /${byte} HTTP/1.1\r\nHost: a\r\n\r\n`, 'latin1'));
    await eventually(() => received().startsWith('HTTP/1.1 400'));
  }
  await fetch(`${baseUrl}/${'x'.repeat(100)}`);
  await eventually(() => lines.length > 0);
  expect(lines).toEqual([`12:00:00  emulator: GET /${'x'.repeat(79)} -> 404\n`]);
});

test.each([
  ['/behaviour/toString', 404],
  ['/token-behaviour/refuse', 404],
  ['/', 405],
  ['/behaviour/slow?delayMs=soon', 400],
  ['/behaviour/slow?delayMs=', 400],
  [`/behaviour/slow?delayMs=1&${'a'.repeat(200)}`, 400],
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

const IN_PRODUCTION = { PROVIDER_ENVIRONMENT: 'Production' };
test.each([
  ['in a production environment', IN_PRODUCTION, 'PROVIDER_ENVIRONMENT is production'],
  [
    'on a port that is none',
    { EMULATOR_PORT: '70000' },
    'EMULATOR_PORT must be a port from 0 to 65535',
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

const runProgram = (...programArgs: readonly string[]) => {
  const program = runNode(resolve('dist/emulator/main.js'), {
    env: { EMULATOR_PORT: '0', EMULATOR_CONTROL_PORT: '0' },
    programArgs,
  });
  closeLater(() => void program.end());
  return program;
};
test.each(['-h', '--help'])('the program prints how to use it for %s', async (option) => {
  const { exit, output, says } = runProgram(option);
  // Whatever it is: it may have started.
  await says(/\n$/);
  expect(output()).toMatch(/^Emulates the provider.*\n\nUsage: npm run emulator\n/);
  expect(output()).toMatch(/^ {2}EMULATOR_CONTROL_PORT {3}4001$/m);
  expect(await exit).toBe(0);
});

test.each([
  [['--port=SECRET'], '"--port"'],
  [['--help', 'unavailable'], '"unavailable"'],
  [['\u001b[2J'], String.raw`"\u001b[2J"`],
])('the program does not start with the arguments %j', async (args, named) => {
  const { exit, output, says } = runProgram(...args);
  await says(/\n$/);
  expect(output()).toBe(`Unknown argument ${named}. Allowed: --help.\n`);
  expect(await exit).toBe(2);
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
