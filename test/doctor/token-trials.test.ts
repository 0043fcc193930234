import { expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { closeLater } from '../helpers/close-later.ts';
import { listenOn } from '../helpers/free-port.ts';
import { runDoctor } from '../helpers/run-doctor.ts';

// Which requests the doctor makes after a token endpoint has refused one, and what it says where
// none is granted.

interface TokenRequest {
  readonly isJson: boolean;
  /** Whether the id and the secret are in the body. */
  readonly isPost: boolean;
  /** Of HTTP Basic, decoded. */
  readonly credentials: string;
}

/** The status, and the code of RFC 6749 section 5.2; none: the connection is closed. */
type Refusal = readonly [status: number, code?: string] | undefined;

/** The report about an endpoint that answers so, and how many requests it got. */
const diagnose = async (
  refusalOf: (request: TokenRequest) => Refusal,
  env: EnvironmentVariables = {},
): Promise<{ report: string; requests: number }> => {
  let requests = 0;
  const server = createServer((req, res) => {
    requests += 1;
    void text(req).then((body) => {
      const [, basic = ''] = (req.headers.authorization ?? '').split(' ');
      const refusal = refusalOf({
        isJson: req.headers['content-type'] === 'application/json',
        isPost: body.includes('client_secret'),
        credentials: Buffer.from(basic, 'base64').toString(),
      });
      if (!refusal) return void req.socket.destroy();
      const [status, error] = refusal;
      res.writeHead(status, { 'content-type': 'application/json' });
      return void res.end(error === undefined ? '' : JSON.stringify({ error }));
    });
  });
  const url = `http://127.0.0.1:${await listenOn(server)}`;
  closeLater(() => server.close());
  const { linesOf, status } = await runDoctor({
    PROVIDER_SANDBOX_BASE_URL: url,
    PROVIDER_ACCESS_TOKEN: '',
    PROVIDER_TOKEN_URL: `${url}/token`,
    PROVIDER_CLIENT_ID: 'client',
    PROVIDER_CLIENT_SECRET: 'SECRET-of-the-client',
    ...env,
  });
  expect(status).toBe(1);
  return { report: linesOf('token'), requests };
};

test.each<[refusal: Refusal, says: string, requests: number]>([
  [[405], 'not the address of an OAuth 2.0 token endpoint', 1],
  [[418], 'does not handle this request', 1],
  // The other format is tried.
  [[400], 'something is missing in the request', 2],
  [[422], 'something is missing in the request', 2],
  [[415], 'wants a format other than form and JSON', 2],
  // No other way is tried where the refusal is not about the client.
  [[401, 'invalid_scope'], 'requires a scope', 1],
  [[401, 'unauthorized_client'], 'may not use the client-credentials grant', 1],
])('an endpoint that always answers %j %s, after %d requests', async (refusal, says, requests) => {
  const result = await diagnose(() => refusal);
  expect(result.report).toContain(says);
  expect(result.requests).toBe(requests);
});

test.each(['invalid_scope', 'unauthorized_client', 'unsupported_grant_type'])(
  'a way of authentication after which the refusal is %s is the right one',
  async (code) => {
    const { report } = await diagnose(({ isPost }) => (isPost ? [400, code] : [401]));
    expect(report).toContain('set PROVIDER_TOKEN_AUTH=post');
  },
);

test('HTTP Basic is found where the body was refused, and is tried once', async () => {
  const { report, requests } = await diagnose(
    ({ isPost }) => (isPost ? [401] : [400, 'invalid_scope']),
    { PROVIDER_TOKEN_AUTH: 'post' },
  );
  expect(report).toMatch(/set PROVIDER_TOKEN_AUTH=basic$/m);
  expect(requests).toBe(2);
});

test.each<
  [what: string, (request: TokenRequest) => Refusal, EnvironmentVariables, requests: number]
>([
  // Basic and post in JSON: the form is known not to be read.
  ['reads JSON only', ({ isJson }) => (isJson ? [401] : [415]), {}, 3],
  ['refuses Basic and fails for the rest', ({ isPost }) => (isPost ? undefined : [401]), {}, 2],
  // With nothing to escape, basic would send the same.
  ['refuses every client', () => [401], { PROVIDER_TOKEN_AUTH: 'basic_plain' }, 3],
  ['refuses every client', () => [401], {}, 3],
])('of an endpoint that %s nothing is asked in vain', async (_what, refusalOf, env, requests) => {
  expect((await diagnose(refusalOf, env)).requests).toBe(requests);
});

test.each([
  ['id', { PROVIDER_CLIENT_ID: 'a+client' }],
  ['secret', { PROVIDER_CLIENT_SECRET: 'SECRET-of+the-client' }],
])('a plus in the %s alone is a reason to try it without escapes', async (_what, env) => {
  const { report } = await diagnose(
    ({ credentials }) => (credentials.includes('+') ? [400, 'invalid_scope'] : [401]),
    env,
  );
  expect(report).toContain('set PROVIDER_TOKEN_AUTH=basic_plain');
});
