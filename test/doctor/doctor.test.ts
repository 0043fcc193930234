import { describe, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import {
  isBehaviour,
  isTokenBehaviour,
  type Behaviour,
  type TokenBehaviour,
} from '../../emulator/behaviours.ts';
import type { Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { BANKS, emulate } from '../helpers/emulate.ts';
import { runService } from '../helpers/process.ts';
import { clientCredentialsEnv } from '../helpers/rig.ts';
import {
  expectFailure,
  runDoctor,
  STEPS_OF_LOAD,
  type DoctorReport,
  type Failure,
} from '../helpers/run-doctor.ts';
import { serve } from '../helpers/serve.ts';
import { temporaryFile } from '../helpers/temporary-folder.ts';

// The doctor against the emulator: for each thing that it can do, the step, the cause, the variable,
// and how many requests were made.

const TOKEN = 'emulator-access-token';

const diagnose = (emulator: Emulator, env: EnvironmentVariables = {}) =>
  runDoctor({ PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, ...env });

const expectServed = ({ status, steps, text }: DoctorReport): void => {
  expect({ status, failed: steps('FAIL') }).toEqual({ status: 0, failed: [] });
  expect(steps('ok|note')).toEqual(STEPS_OF_LOAD);
  expect(text).toContain('This configuration can serve a list.');
};

test('the built program writes the report to standard output, redacted, and its exit status is the result', async () => {
  const emulator = await emulate();
  const run = async (path: string): Promise<{ status: number | null; text: string }> => {
    const env = { PROVIDER_SANDBOX_BASE_URL: `${emulator.baseUrl}${path}` };
    const { exit, output } = runService(env, { programArgs: ['doctor'] });
    return { status: await exit, text: output() };
  };
  expect(await run('')).toEqual({
    status: 0,
    text: expect.stringContaining(`${BANKS.length} banks`),
  });
  const misplaced = await run(`/${TOKEN}`);
  expect(misplaced).toEqual({ status: 1, text: expect.stringContaining('/[redacted]') });
  expect(misplaced.text).not.toContain(TOKEN);
});

test('a healthy provider gets one request, and the report shows its fields, size, time and suggestions', async () => {
  const emulator = await emulate();
  const report = await diagnose(emulator, { BANK_FIELDS: 'id:ispb,name,nome?' });
  expectServed(report);
  expect(emulator.calls).toHaveLength(1);
  expect(report.linesOf('configuration')).toContain('publishes 3 fields');
  expect(report.linesOf('address')).toMatch(/connected to 127\.0\.0\.1 port \d+ after \d+ ms/);
  expect(report.linesOf('response')).toMatch(/200, [\d.]+ kB complete after \d+ ms$/);
  expect(report.linesOf('list')).toMatch(new RegExp(`${BANKS.length} banks, [\\d.]+ kB$`));
  expect(report.text).toMatch(/^ {2}ispb +100\.0 % +published as id$/m);
  expect(report.text).toMatch(/^ {2}nome +0\.0 % +published as nome$/m);
  expect(report.text).toMatch(/^ {2}website +60\.0 %$/m);
  expect(report.text).not.toContain('BANK_FIELDS=');
});

/** Undefined: the list can be served. */
type Row = readonly [failure: Failure | undefined, env?: EnvironmentVariables];

const BASE_URL = 'PROVIDER_SANDBOX_BASE_URL';
/** Long enough for a busy machine to send the request. */
const SHORT = { PROVIDER_TIMEOUT: '2s' };
const response = (says: RegExp, variable = BASE_URL): Failure => ['response', says, variable];
const list = (says: RegExp, variable: string): Failure => ['list', says, variable];

const TIMED_OUT: Row = [
  response(/no complete response from the provider within 2000 ms/, 'PROVIDER_TIMEOUT'),
  SHORT,
];
const OF_LIST: Readonly<Record<Behaviour, Row>> = {
  healthy: [undefined],
  refuse: [['address', /\(ECONNREFUSED\)/, BASE_URL]],
  reset: [response(/closed the connection without a response/)],
  hang: TIMED_OUT,
  stall: TIMED_OUT,
  'cut-short': [response(/the response of the provider was cut short/)],
  drip: TIMED_OUT,
  'bad-request': [response(/status 400/, 'PROVIDER_QUERY')],
  unauthorized: [response(/\(401\)/, 'PROVIDER_ACCESS_TOKEN')],
  forbidden: [response(/status 403/, 'PROVIDER_HEADERS')],
  'not-found': [response(/status 404/)],
  'rate-limited': [response(/\(429\)/, 'CACHE_TTL')],
  'server-error': [response(/\(500\)/)],
  unavailable: [response(/\(503\)/)],
  redirect: [response(/status 302/)],
  'no-content': [response(/status 204/)],
  html: [list(/is not JSON[^]*maintenance page/, BASE_URL)],
  'wrong-type': [undefined],
  'not-json': [list(/is not JSON/, BASE_URL)],
  'not-utf8': [list(/is not in UTF-8/, BASE_URL)],
  envelope: [list(/not a list[^]*BANK_LIST/, 'BANK_LIST')],
  'deep-envelope': [list(/no list at BANK_LIST \(data\)/, 'BANK_LIST'), { BANK_LIST: 'data' }],
  'nested-envelope': [
    list(/120 of 120 entries are unusable \(120 object_value\)/, 'BANK_FIELDS'),
    { BANK_LIST: 'data', BANK_FIELDS: 'names,ids' },
  ],
  'large-head': [response(/cannot be read as HTTP \(UND_ERR_HEADERS_OVERFLOW\)/)],
  null: [list(/not a list/, 'BANK_LIST')],
  'too-deep': [list(/entries are unusable|is not JSON/, 'BANK_FIELDS|PROVIDER_SANDBOX_BASE_URL')],
  'too-large': [response(/more than 1048576 bytes/, 'PROVIDER_MAX_BODY')],
  'gzip-bomb': [response(/more than 1048576 bytes/, 'PROVIDER_MAX_BODY')],
  empty: [list(/0 usable entries/, 'GUARD_MIN_BANKS')],
  few: [list(/3 usable entries/, 'GUARD_MIN_BANKS'), { GUARD_MIN_BANKS: '100' }],
  shrunk: [undefined],
  replaced: [undefined],
  'some-unusable': [undefined],
  'most-unusable': [list(/72 of 120 entries are unusable/, 'GUARD_MAX_SHRINK')],
  echo: [list(/contains the secret of PROVIDER_ACCESS_TOKEN/, 'BANK_FIELDS')],
  'renamed-field': [list(/no entry has a value .*: name[^]*fields that the doctor/, 'BANK_FIELDS')],
  'retyped-field': [undefined],
  'thinned-field': [undefined],
  duplicates: [undefined],
  paginated: [undefined],
};

test.each(Object.keys(OF_LIST).filter(isBehaviour))(
  'while the list does %s, one request finds the step, the cause and the variable',
  async (behaviour) => {
    const [failure, env] = OF_LIST[behaviour];
    const emulator = await emulate();
    await emulator.behave(behaviour);
    const report = await diagnose(emulator, env);
    if (failure) expectFailure(report, failure);
    else expectServed(report);
    expect(emulator.listCalls()).toBe(behaviour === 'refuse' ? 0 : 1);
  },
);

const token = (says: RegExp, variable = 'PROVIDER_TOKEN_URL'): Failure => ['token', says, variable];
const AUTH = String.raw`PROVIDER_TOKEN_AUTH \(basic, basic_plain or post\)`;
const FORMAT = String.raw`PROVIDER_TOKEN_FORMAT \(form or json\)`;

const OF_TOKEN: Readonly<Record<TokenBehaviour, Row>> = {
  healthy: [undefined],
  'camel-case': [token(/PROVIDER_TOKEN_FIELD=accessToken may be right/, 'PROVIDER_TOKEN_FIELD')],
  'plain-basic': [token(/401 invalid_client/, AUTH)],
  'post-only': [token(/401 invalid_client/, AUTH)],
  'json-post-only': [token(/422/, FORMAT)],
  'json-only': [token(/400 invalid_request/, FORMAT)],
  'rejected-token': [response(/\(401\)[^]*belong together/, 'PROVIDER_TOKEN_URL')],
  reset: [token(/no response from the token endpoint: it closed the connection/)],
  hang: [
    token(/no complete response from the token endpoint within 2000 ms/, 'PROVIDER_TIMEOUT'),
    SHORT,
  ],
  'server-error': [token(/the token endpoint fails \(500\)/)],
  'invalid-client': [
    token(/401 invalid_client/, 'PROVIDER_CLIENT_SECRET_FILE'),
    { PROVIDER_CLIENT_SECRET: '', PROVIDER_CLIENT_SECRET_FILE: temporaryFile('client-secret') },
  ],
  'unknown-refusal': [token(/status 401/, AUTH)],
  'unsupported-grant': [token(/unsupported_grant_type/)],
  'unauthorized-client': [token(/unauthorized_client/, 'PROVIDER_CLIENT_ID')],
  'invalid-scope': [token(/invalid_scope/, 'PROVIDER_TOKEN_SCOPE')],
  forbidden: [token(/status 403/)],
  'not-found': [token(/status 404/)],
  'no-content': [token(/status 204 and no token/)],
  redirect: [token(/status 307/)],
  'rate-limited': [token(/\(429\)/, 'CACHE_TTL')],
  html: [token(/status 200 and no token/)],
};

test.each(Object.keys(OF_TOKEN).filter(isTokenBehaviour))(
  'while the token endpoint does %s, one request finds the step, the cause and the variable',
  async (behaviour) => {
    const [failure, env] = OF_TOKEN[behaviour];
    const client = { clientId: 'a-client', clientSecret: 'a+secret:in%41Base64==' };
    const emulator = await emulate(client);
    emulator.behaveToken(behaviour);
    const report = await diagnose(emulator, {
      ...clientCredentialsEnv(emulator),
      PROVIDER_CLIENT_ID: client.clientId,
      PROVIDER_CLIENT_SECRET: client.clientSecret,
      ...env,
    });
    if (failure) expectFailure(report, failure);
    else expectServed(report);
    expect(emulator.tokenCalls()).toBe(1);
    expect(emulator.listCalls()).toBe(failure?.[0] === 'token' ? 0 : 1);
  },
);

test.each([
  [{ data: { token: 'SECRET-1' } }, '; PROVIDER_TOKEN_FIELD=data.token may be right'],
  [
    {
      token_type: 'Bearer',
      refresh_token: 'SECRET-1',
      'a\u001Btoken': 'SECRET-2',
      jwt: 'SECRET-3',
    },
    '; PROVIDER_TOKEN_FIELD=jwt may be right',
  ],
  [{ token_type: 'Bearer', id_token: 'SECRET-1', token: 1 }, ''],
])('where a grant of %j has its token is suggested, by the name only', async (grant, hint) => {
  const endpoint = createServer((_req, res) => void res.end(JSON.stringify(grant)));
  const emulator = await emulate();
  const report = await diagnose(emulator, {
    ...clientCredentialsEnv(emulator),
    PROVIDER_TOKEN_URL: `http://127.0.0.1:${await serve(endpoint)}/token`,
  });
  expect(report.linesOf('token')).toMatch(new RegExp(`no token at access_token${hint}\n`));
});

test('a token from a file is used, and the variable of the file is named where it is wrong', async () => {
  const emulator = await emulate();
  const withFile = (text: string) =>
    diagnose(emulator, {
      PROVIDER_ACCESS_TOKEN: '',
      PROVIDER_ACCESS_TOKEN_FILE: temporaryFile(text),
    });
  expectServed(await withFile(`${TOKEN}\n`));
  expectFailure(
    await withFile('SECRET-but-wrong'),
    response(/\(401\)/, 'PROVIDER_ACCESS_TOKEN_FILE'),
  );
});

test('an unknown host fails at the address, and of a token endpoint its own variable is named', async () => {
  const env = { PROVIDER_SANDBOX_BASE_URL: 'http://provider.invalid' };
  expectFailure(await runDoctor(env), ['address', /\((?:ENOTFOUND|EAI_AGAIN)\)/, BASE_URL]);
  const emulator = await emulate();
  const report = await diagnose(emulator, {
    ...clientCredentialsEnv(emulator),
    PROVIDER_TOKEN_URL: 'http://127.0.0.1:9/oauth/token?key=SECRET-canary',
  });
  expectFailure(report, token(/\(ECONNREFUSED\)/));
});

describe('the list', () => {
  test.each<[Behaviour, EnvironmentVariables, lines: string[]]>([
    ['envelope', {}, ['BANK_LIST=data']],
    ['deep-envelope', { BANK_LIST: 'data' }, ['BANK_LIST=data.banks']],
    ['healthy', { BANK_LIST: 'data' }, ['BANK_LIST=']],
    [
      'nested-envelope',
      {},
      ['BANK_LIST=data', 'BANK_FIELDS=code:ids.code,ispb:ids.ispb,short:names.short,fullName'],
    ],
  ])('of %s with %j is found, and lines that fit are suggested', async (behaviour, env, lines) => {
    const emulator = await emulate();
    await emulator.behave(behaviour);
    const { text } = await diagnose(emulator, env);
    for (const line of lines) expect(text).toContain(`\n  ${line}`);
  });

  test.each<[Behaviour, EnvironmentVariables, says: RegExp]>([
    ['some-unusable', {}, /6 entries are left out \(not_an_object\)/],
    ['duplicates', {}, /1 bank,[^]*199 entries are left out \(duplicate\)/],
    ['paginated', {}, /names a next page/],
  ])('of %s with %j is served with a note', async (behaviour, env, says) => {
    const emulator = await emulate();
    await emulator.behave(behaviour);
    const report = await diagnose(emulator, env);
    expectServed(report);
    expect(report.steps('note')).toEqual(['list']);
    expect(report.linesOf('list')).toMatch(says);
  });

  test('with very many fields, and names that could write to the terminal, is shown in bounds', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f${i}`, i]));
    const emulator = await emulate({ banks: [{ 'x\u001B[31mred': 1, 'a,b': 2, ...many }] });
    const { status, text } = await diagnose(emulator, { BANK_FIELDS: 'f9' });
    expect(status).toBe(0);
    expect(text).not.toContain('\u001B');
    expect(text).toMatch(/^ {2}f57 +100\.0 %$/m);
    expect(text).toMatch(/^ {2}and \d+ more$/m);
  });
});

test('an unusable configuration is reported whole, its files included, with no value and no request', async () => {
  const emulator = await emulate();
  const { status, text, steps } = await diagnose(emulator, {
    PORT: 'SECRET-1',
    CACHE_TTLL: '1',
    MANAGEMENT_TOKEN_FILE: '/missing',
  });
  expect({ status, failed: steps('FAIL').length }).toEqual({ status: 1, failed: 3 });
  expect(text).toMatch(/^FAIL +configuration +CACHE_TTLL: is not a variable/m);
  const file = await diagnose(emulator, { PROVIDER_TLS_CA_FILE: '/missing' });
  expect(file.text).toMatch(
    /^FAIL +configuration +PROVIDER_TLS_CA_FILE: cannot be read \(ENOENT\)/,
  );
  expect(emulator.calls).toHaveLength(0);
});
