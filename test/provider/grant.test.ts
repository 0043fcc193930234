import { expect, test } from '@jest/globals';
import { readGrant } from '../../src/provider/grant.ts';
import { PROVIDER_TOKEN_RULE } from '../../src/secrets/secret.ts';

// What a response of the token endpoint grants. What the service does with it is in token.test.ts.

const read = (text: string) =>
  readGrant(Buffer.from(text), 200, { field: 'access_token', rule: PROVIDER_TOKEN_RULE });

test.each([
  [3_600, 3_600_000],
  ['3600', 3_600_000],
  [0.5, 500],
  ...[0, -1, '0', '-1', '', 'never', 'PT1H', true, null, {}].map(
    (lifetime) => [lifetime, Infinity] as const,
  ),
])('an expires_in of %j is a lifetime of %d ms', (lifetime, lifetimeMs) => {
  const grant = { access_token: 'token-1', expires_in: lifetime };
  expect(read(JSON.stringify(grant))).toEqual({ token: 'token-1', lifetimeMs });
});

test('a grant may begin with a byte order mark, and have no expires_in', () => {
  const grant = { token: 'token-1', lifetimeMs: Infinity };
  expect(read('\ufeff{"access_token":"token-1"}')).toEqual(grant);
});

test('JSON that is nested as deep as it can be is no grant', () => {
  expect(() => read('['.repeat(65_536))).toThrow('is not a JSON object');
  const deep = `{"access_token":"token-1","a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
  expect(read(deep).token).toBe('token-1');
});
