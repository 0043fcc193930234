import { expect, test } from '@jest/globals';
import type { OutgoingHttpHeaders } from 'node:http';
import supertest from 'supertest';
import type { Behaviour, ChangeGrant, TokenBehaviour } from '../../emulator/behaviours.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { emulate } from '../helpers/emulate.ts';
import { clientCredentialsEnv, startRig } from '../helpers/rig.ts';
import { eventually } from '../helpers/wait-until.ts';

// Shapes of providers and token endpoints: what the service answers with a plain configuration, and
// which line of configuration makes it work. Each is tried on the whole service.

/** A client whose id and secret have what servers read in different ways. */
const CLIENT = { clientId: '5f6c1f0e-6d1b-4b0a', clientSecret: 'a+secret:in%41/Base64==' };

interface Shape {
  /** Of the list, with a token by client credentials. */
  readonly list?: Behaviour;
  readonly token?: TokenBehaviour;
  /** What the endpoint grants instead of its own grant. */
  readonly grant?: ChangeGrant;
  /** The list itself, in place of a behaviour: its status, body and headers. */
  readonly answer?: readonly [status: number, body: unknown, headers?: OutgoingHttpHeaders];
  readonly env?: EnvironmentVariables;
  /** What /banks answers. */
  readonly status: number;
  /** The configuration that makes it work; undefined: none can, or none is needed. */
  readonly fix?: EnvironmentVariables;
}

const ROWS = [
  { code: '1', 'a.b': 'x', ids: { ispb: '10', tax: { id: 5 } } },
  { code: '2', 'a.b': 'y', ids: { ispb: '20', tax: { id: 6 } } },
];

const SHAPES: Readonly<Record<string, Shape>> = {
  // Token endpoint: status and body of the answer.
  'a plain grant': { status: 200 },
  'no token_type and no expires_in': {
    grant: ({ access_token }) => ({ access_token }),
    status: 200,
  },
  'token_type and expires_in null': {
    grant: (good) => ({ ...good, token_type: null, expires_in: null }),
    status: 200,
  },
  'token_type in lower case, expires_in as text': {
    grant: (good) => ({ ...good, token_type: 'bearer', expires_in: '3600' }),
    status: 200,
  },
  'expires_in as a period': { grant: (good) => ({ ...good, expires_in: 'PT1H' }), status: 200 },
  'the token in accessToken': { token: 'camel-case', status: 502 },
  'token_type DPoP': { grant: (good) => ({ ...good, token_type: 'DPoP' }), status: 502 },
  'a token of 40 kB': {
    grant: (good) => ({ ...good, access_token: '!'.repeat(40_000) }),
    status: 502,
  },
  'an error with 200': { grant: () => ({ error: 'invalid_client' }), status: 502 },
  'a grant with 204': { token: 'no-content', status: 502 },
  'a web page': { token: 'html', status: 502 },
  'a redirect': { token: 'redirect', status: 502 },
  '404': { token: 'not-found', status: 502 },
  '403': { token: 'forbidden', status: 502 },
  '500': { token: 'server-error', status: 503 },
  '429': { token: 'rate-limited', status: 503 },
  'a reset connection': { token: 'reset', status: 503 },
  // Token endpoint: refusals, formats and authentication.
  invalid_client: { token: 'invalid-client', status: 502 },
  '401 without a code': { token: 'unknown-refusal', status: 502 },
  unsupported_grant_type: { token: 'unsupported-grant', status: 502 },
  unauthorized_client: { token: 'unauthorized-client', status: 502 },
  invalid_scope: { token: 'invalid-scope', status: 502 },
  'JSON or 400': {
    token: 'json-only',
    status: 502,
    fix: { PROVIDER_TOKEN_FORMAT: 'json' },
  },
  'a form, with json configured': {
    env: { PROVIDER_TOKEN_FORMAT: 'json' },
    status: 502,
    fix: { PROVIDER_TOKEN_FORMAT: 'form' },
  },
  'Basic that is not decoded': {
    token: 'plain-basic',
    status: 502,
    fix: { PROVIDER_TOKEN_AUTH: 'basic_plain' },
  },
  'Basic that is decoded, with basic_plain': {
    env: { PROVIDER_TOKEN_AUTH: 'basic_plain' },
    status: 502,
    fix: { PROVIDER_TOKEN_AUTH: 'basic' },
  },
  'credentials in the form': {
    token: 'post-only',
    status: 502,
    fix: { PROVIDER_TOKEN_AUTH: 'post' },
  },
  'credentials in JSON': {
    token: 'json-post-only',
    status: 502,
    fix: { PROVIDER_TOKEN_AUTH: 'post', PROVIDER_TOKEN_FORMAT: 'json' },
  },
  'a token that the list rejects': {
    token: 'rejected-token',
    status: 502,
  },
  // The list: status, headers and encoding.
  'status 206': { answer: [206, ROWS], status: 502 },
  'a problem document with 403': { list: 'forbidden', status: 502 },
  'a list labelled as text': {
    list: 'wrong-type',
    status: 200,
  },
  'a list labelled as JSON:API': {
    answer: [200, ROWS, { 'content-type': 'application/vnd.api+json' }],
    env: { BANK_FIELDS: 'code' },
    status: 200,
  },
  'a list in ISO-8859-1': { list: 'not-utf8', status: 502 },
  'a head of 20 KiB': {
    list: 'large-head',
    status: 502,
  },
  'Retry-After: -1': {
    answer: [503, {}, { 'retry-after': '-1' }],
    status: 503,
  },
  'Retry-After: a year': {
    answer: [429, {}, { 'retry-after': '31536000' }],
    status: 503,
  },
  'one page of more': { list: 'paginated', status: 200 },
  'one page of more, in a second line of Link': {
    answer: [200, ROWS, { link: ['</1>; rel="first"', '</2>; rel="next"'] }],
    env: { BANK_FIELDS: 'code' },
    status: 200,
  },
  'links of other relations, whose names have "next" in them': {
    answer: [200, ROWS, { link: '</a>; rel="https://example.com/rels/next next-archive"' }],
    env: { BANK_FIELDS: 'code' },
    status: 200,
  },
  'a list with an empty Content-Encoding': {
    answer: [200, ROWS, { 'Content-Encoding': '' }],
    env: { BANK_FIELDS: 'code' },
    status: 200,
  },
  'a list encoded twice, in two lines': {
    answer: [200, ROWS, { 'Content-Encoding': ['gzip', 'gzip'] }],
    status: 502,
  },
  // The list: nesting.
  'a list in data': {
    list: 'envelope',
    status: 502,
    fix: { BANK_LIST: 'data' },
  },
  'a list in data.banks': {
    list: 'deep-envelope',
    status: 502,
    fix: { BANK_LIST: 'data.banks' },
  },
  'a plain list, with BANK_LIST': {
    env: { BANK_LIST: 'data' },
    status: 502,
    fix: { BANK_LIST: '' },
  },
  'objects where fields are chosen': {
    answer: [200, ROWS],
    env: { BANK_FIELDS: 'code,ids' },
    status: 502,
    fix: { BANK_FIELDS: 'code,ispb:ids.ispb,id:ids.tax.id' },
  },
  'fields inside objects, with their last names': {
    answer: [200, ROWS],
    env: { BANK_FIELDS: 'code,ispb' },
    status: 502,
    fix: { BANK_FIELDS: 'code,ispb:ids.ispb' },
  },
  'a name with a dot': {
    answer: [200, ROWS],
    env: { BANK_FIELDS: 'x:a.b' },
    status: 200,
  },
  both: {
    list: 'nested-envelope',
    status: 502,
    fix: { BANK_LIST: 'data', BANK_FIELDS: 'code:ids.code,ispb:ids.ispb,name:names.short' },
  },
  'a field that some entries lack': {
    env: { BANK_FIELDS: 'code,site' },
    status: 502,
    fix: { BANK_FIELDS: 'code,website?' },
  },
  'an object without a list': {
    answer: [200, { error: 'none' }],
    status: 502,
  },
  'texts instead of objects': {
    answer: [200, ['a', 'b']],
    status: 502,
  },
};

test('there are at least 40 of them', () => {
  expect(Object.keys(SHAPES).length).toBeGreaterThanOrEqual(40);
});

test.each(Object.entries(SHAPES))(
  'clients get what is right for this shape: %s',
  async (_name, { list, token, grant, answer, env, status, fix }) => {
    const emulator = await emulate(CLIENT);
    if (list) await emulator.behave(list);
    emulator.behaveToken(token ?? 'healthy', grant);
    if (answer) {
      const [code, body, headers] = answer;
      emulator.respondWith((_req, res) =>
        res
          .writeHead(code, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify(body)),
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
    if (!fix) return;
    expect(await answerWith({ ...configured, ...fix })).toBe(200);
  },
);
