import { expect, test } from '@jest/globals';
import type { OutgoingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import supertest from 'supertest';
import type { Behaviour, TokenBehaviour } from '../../emulator/behaviours.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { emulate } from '../helpers/emulate.ts';
import { clientCredentialsEnv, startRig } from '../helpers/rig.ts';
import { runDoctor } from '../helpers/run-doctor.ts';
import { eventually } from '../helpers/wait-until.ts';

// Shapes of providers and token endpoints: what the service answers with a plain configuration,
// what the doctor says, and which line of configuration makes it work. Each is tried on the whole
// service.

/** A client whose id and secret have what servers read in different ways. */
const CLIENT = { clientId: '5f6c1f0e-6d1b-4b0a', clientSecret: 'a+secret:in%41/Base64==' };

interface Shape {
  /** Of the list, with a token by client credentials. */
  readonly list?: Behaviour;
  readonly token?: TokenBehaviour;
  /** The list itself, in place of a behaviour: its status, body and headers. */
  readonly answer?: readonly [status: number, body: unknown, headers?: OutgoingHttpHeaders];
  readonly env?: EnvironmentVariables;
  /** What /banks answers. */
  readonly status: number;
  /** What the doctor says. */
  readonly says: RegExp | string;
  /** The configuration that makes it work; undefined: none can, or none is needed. */
  readonly fix?: EnvironmentVariables;
}

const ROWS = [
  { code: '1', 'a.b': 'x', ids: { ispb: '10', tax: { id: 5 } } },
  { code: '2', 'a.b': 'y', ids: { ispb: '20', tax: { id: 6 } } },
];
const WORKS = 'can serve a list';

const SHAPES: Readonly<Record<string, Shape>> = {
  // Token endpoint: status and body of the answer.
  'a plain grant': { status: 200, says: WORKS },
  'a grant with 201': { token: 'created', status: 200, says: WORKS },
  'no token_type': { token: 'no-type', status: 200, says: WORKS },
  'token_type null': { token: 'null-type', status: 200, says: WORKS },
  'token_type in lower case': { token: 'lowercase-type', status: 200, says: WORKS },
  'expires_in as text': { token: 'string-expires-in', status: 200, says: WORKS },
  'no expires_in': { token: 'no-expires-in', status: 200, says: WORKS },
  'expires_in null': { token: 'null-expires-in', status: 200, says: WORKS },
  'expires_in as a period': { token: 'bad-expires-in', status: 200, says: WORKS },
  'the token in accessToken': { token: 'camel-case', status: 502, says: 'accessToken, expiresAt' },
  'token_type DPoP': {
    token: 'other-type',
    status: 502,
    says: 'its token_type is not Bearer',
  },
  'a token of 40 kB': { token: 'huge-token', status: 502, says: 'has more than 8192 bytes' },
  'a grant with 204': { token: 'no-content', status: 502, says: '(204) is not a JSON object' },
  'a web page': { token: 'html', status: 502, says: 'not the address of an OAuth 2.0 token' },
  'a redirect': { token: 'redirect', status: 502, says: 'redirects are not followed' },
  '404': { token: 'not-found', status: 502, says: 'not the address of an OAuth 2.0 token' },
  '403': { token: 'forbidden', status: 502, says: 'does not let this machine' },
  '500': { token: 'server-error', status: 503, says: 'the token endpoint fails (500)' },
  '429': { token: 'rate-limited', status: 503, says: 'limits the rate (429)' },
  'a reset connection': { token: 'reset', status: 503, says: 'closes the connection' },
  // Token endpoint: refusals, formats and authentication.
  invalid_client: { token: 'invalid-client', status: 502, says: /the id or the secret is wrong/ },
  'invalid_client with 200': { token: 'error-as-200', status: 502, says: /the id or the secret/ },
  '401 without a code': { token: 'unknown-refusal', status: 502, says: /the id or the secret/ },
  unsupported_grant_type: { token: 'unsupported-grant', status: 502, says: 'does not offer the' },
  unauthorized_client: { token: 'unauthorized-client', status: 502, says: 'which may not use' },
  invalid_scope: { token: 'invalid-scope', status: 502, says: 'set PROVIDER_TOKEN_SCOPE to it' },
  'JSON or 400': {
    token: 'json-only',
    status: 502,
    says: 'set PROVIDER_TOKEN_FORMAT=json',
    fix: { PROVIDER_TOKEN_FORMAT: 'json' },
  },
  'JSON or 415': {
    token: 'json-or-415',
    status: 502,
    says: 'set PROVIDER_TOKEN_FORMAT=json',
    fix: { PROVIDER_TOKEN_FORMAT: 'json' },
  },
  'a form, with json configured': {
    env: { PROVIDER_TOKEN_FORMAT: 'json' },
    status: 502,
    says: 'set PROVIDER_TOKEN_FORMAT=form',
    fix: { PROVIDER_TOKEN_FORMAT: 'form' },
  },
  'Basic that is not decoded': {
    token: 'plain-basic',
    status: 502,
    says: 'set PROVIDER_TOKEN_AUTH=basic_plain',
    fix: { PROVIDER_TOKEN_AUTH: 'basic_plain' },
  },
  'Basic that is decoded, with basic_plain': {
    env: { PROVIDER_TOKEN_AUTH: 'basic_plain' },
    status: 502,
    says: 'set PROVIDER_TOKEN_AUTH=basic',
    fix: { PROVIDER_TOKEN_AUTH: 'basic' },
  },
  'credentials in the form': {
    token: 'post-only',
    status: 502,
    says: 'set PROVIDER_TOKEN_AUTH=post',
    fix: { PROVIDER_TOKEN_AUTH: 'post' },
  },
  'credentials in JSON': {
    token: 'json-post-only',
    status: 502,
    says: 'set PROVIDER_TOKEN_AUTH=post and PROVIDER_TOKEN_FORMAT=json',
    fix: { PROVIDER_TOKEN_AUTH: 'post', PROVIDER_TOKEN_FORMAT: 'json' },
  },
  'a token that the list rejects': {
    token: 'rejected-token',
    status: 502,
    says: 'tokens that the list rejects',
  },
  // The list: status, headers and encoding.
  'status 206': { answer: [206, ROWS], status: 502, says: 'sends no list for it' },
  'a problem document with 403': { list: 'forbidden', status: 502, says: 'may not read the banks' },
  'a list labelled as text': {
    list: 'wrong-type',
    status: 200,
    says: WORKS,
  },
  'a list labelled as JSON:API': {
    answer: [200, ROWS, { 'content-type': 'application/vnd.api+json' }],
    env: { BANK_FIELDS: 'code' },
    status: 200,
    says: WORKS,
  },
  'a list in ISO-8859-1': { list: 'not-utf8', status: 502, says: 'another encoding than UTF-8' },
  'a head of 20 KiB': {
    list: 'large-head',
    status: 502,
    says: 'headers of the response have more than 16 KiB',
  },
  'Retry-After: -1': {
    answer: [503, {}, { 'retry-after': '-1' }],
    status: 503,
    says: 'an internal failure',
  },
  'Retry-After: a year': {
    answer: [429, {}, { 'retry-after': '31536000' }],
    status: 503,
    says: 'too many requests',
  },
  'one page of more': { list: 'paginated', status: 200, says: 'the first page of more' },
  'one page of more, in a second line of Link': {
    answer: [200, ROWS, { link: ['</1>; rel="first"', '</2>; rel="next"'] }],
    env: { BANK_FIELDS: 'code' },
    status: 200,
    says: 'the first page of more',
  },
  'links of other relations, whose names have "next" in them': {
    answer: [200, ROWS, { link: '</a>; rel="https://example.com/rels/next next-archive"' }],
    env: { BANK_FIELDS: 'code' },
    status: 200,
    says: /^ok +list +\d+ entries$/m,
  },
  'a list in gzip, by its old name': {
    answer: [200, gzipSync(JSON.stringify(ROWS)), { 'Content-Encoding': 'X-GZip' }],
    env: { BANK_FIELDS: 'code' },
    status: 200,
    says: WORKS,
  },
  'a list with an empty Content-Encoding': {
    answer: [200, ROWS, { 'Content-Encoding': '' }],
    env: { BANK_FIELDS: 'code' },
    status: 200,
    says: WORKS,
  },
  'a list encoded twice, in two lines': {
    answer: [200, ROWS, { 'Content-Encoding': ['gzip', 'gzip'] }],
    status: 502,
    says: 'an encoding that was not requested',
  },
  // The list: nesting.
  'a list in data': {
    list: 'envelope',
    status: 502,
    says: /next +set BANK_LIST=data$/m,
    fix: { BANK_LIST: 'data' },
  },
  'a list in data.banks': {
    list: 'deep-envelope',
    status: 502,
    says: /next +set BANK_LIST=data.banks$/m,
    fix: { BANK_LIST: 'data.banks' },
  },
  'a plain list, with BANK_LIST': {
    env: { BANK_LIST: 'data' },
    status: 502,
    says: /next +unset BANK_LIST$/m,
    fix: { BANK_LIST: '' },
  },
  'objects where fields are chosen': {
    answer: [200, ROWS],
    env: { BANK_FIELDS: 'code,ids' },
    status: 502,
    says: /BANK_FIELDS=code,ispb:ids.ispb,id:ids.tax.id$/m,
    fix: { BANK_FIELDS: 'code,ispb:ids.ispb,id:ids.tax.id' },
  },
  'fields inside objects, with their last names': {
    answer: [200, ROWS],
    env: { BANK_FIELDS: 'code,ispb' },
    status: 502,
    says: /BANK_FIELDS=code,ispb:ids.ispb$/m,
    fix: { BANK_FIELDS: 'code,ispb:ids.ispb' },
  },
  'a name with a dot': {
    answer: [200, ROWS],
    env: { BANK_FIELDS: 'x:a.b' },
    status: 200,
    says: WORKS,
  },
  both: {
    list: 'nested-envelope',
    status: 502,
    says: /BANK_LIST=data$[^]*BANK_FIELDS=code:ids.code,ispb:ids.ispb/m,
    fix: { BANK_LIST: 'data', BANK_FIELDS: 'code:ids.code,ispb:ids.ispb,name:names.short' },
  },
  'a field that some entries lack': {
    env: { BANK_FIELDS: 'code,site' },
    status: 502,
    says: /BANK_FIELDS=code,website\?$/m,
    fix: { BANK_FIELDS: 'code,website?' },
  },
  'an object without a list': {
    answer: [200, { error: 'none' }],
    status: 502,
    says: 'another resource',
  },
  'texts instead of objects': {
    answer: [200, ['a', 'b']],
    status: 502,
    says: /not JSON objects: tell the provider/,
  },
};

test('there are at least 40 of them', () => {
  expect(Object.keys(SHAPES).length).toBeGreaterThanOrEqual(40);
});

test.each(Object.entries(SHAPES))(
  'clients and operators are told what is right for this shape: %s',
  async (_name, { list, token, answer, env, status, says, fix }) => {
    const emulator = await emulate(CLIENT);
    if (list) await emulator.behave(list);
    if (token) emulator.behaveToken(token);
    if (answer) {
      const [code, body, headers] = answer;
      emulator.respondWith((_req, res) =>
        res
          .writeHead(code, { 'content-type': 'application/json', ...headers })
          .end(Buffer.isBuffer(body) ? body : JSON.stringify(body)),
      );
    }
    const configured = {
      ...clientCredentialsEnv(emulator),
      PROVIDER_CLIENT_ID: CLIENT.clientId,
      PROVIDER_CLIENT_SECRET: CLIENT.clientSecret,
      ...env,
    };
    const answerWith = async (variables: EnvironmentVariables): Promise<number> => {
      const rig = await startRig({ provider: emulator, env: variables });
      await eventually(() => rig.service.list.status().nextLoadInMs > 0);
      // Without a list nobody is kept waiting for more than a minute, whatever the provider asks
      // for.
      expect(
        rig.service.list.served() ? 0 : rig.service.list.status().nextLoadInMs,
      ).toBeLessThanOrEqual(60_000);
      return (await supertest(rig.url).get('/banks')).status;
    };
    expect(await answerWith(configured)).toBe(status);
    const doctor = { PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, ...configured };
    const report = await runDoctor(doctor);
    expect(report.text).toMatch(says);
    expect(report.status).toBe(status === 200 ? 0 : 1);
    if (!fix) return;
    expect(await answerWith({ ...configured, ...fix })).toBe(200);
    expect((await runDoctor({ ...doctor, ...fix })).status).toBe(0);
  },
);
