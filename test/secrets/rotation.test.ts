import { expect, test } from '@jest/globals';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import { createAuthority } from '../helpers/authority.ts';
import { emulate } from '../helpers/emulate.ts';
import { postRefresh } from '../helpers/management-port.ts';
import { LISTENING, runService } from '../helpers/process.ts';
import { describeWithRedis, redisOfTest } from '../helpers/redis-server.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { startTlsFront } from '../helpers/tls-front.ts';
import { eventually } from '../helpers/wait-until.ts';

// The runbook of docs/operations.md on the built service, in production and with every secret in a
// file: a rotation of all, after which the old ones are revoked. What one file does by itself:
// secret-files.test.ts.

const serverAuthority = createAuthority();
const clientAuthorities = { old: createAuthority('old'), new: createAuthority('new') };
const clientPairs = {
  old: clientAuthorities.old.issue('old client'),
  new: clientAuthorities.new.issue('new client'),
};
type Age = keyof typeof clientPairs;
const secret = (what: string, age: Age): string => `${age}-${what}-of-more-than-32-characters`;

describeWithRedis('the runbook for secrets', () => {
  test.each([
    ['PROVIDER_ACCESS_TOKEN_FILE', 'token'],
    ['PROVIDER_CLIENT_SECRET_FILE', 'client'],
  ])('with %s rotates every secret; the old ones can then be revoked', async (access, what) => {
    const folder = temporaryFolder('banks-rotation-');
    const redis = await redisOfTest();
    const emulator = await emulate();
    const front = await startTlsFront({
      to: emulator.baseUrl,
      pair: serverAuthority.issue('localhost'),
      clientAuthority: clientAuthorities.old.cert,
    });
    const contents = (age: Age): Record<string, string> => ({
      [access]: secret(what, age),
      PROVIDER_TLS_CA_FILE: serverAuthority.cert,
      PROVIDER_TLS_CERT_FILE: clientPairs[age].cert,
      PROVIDER_TLS_KEY_FILE: clientPairs[age].key,
      MANAGEMENT_TOKEN_FILE: secret('management', age),
      CACHE_REDIS_URL_FILE: `redis://bff:${secret('redis', age)}@127.0.0.1:${redis.port}`,
      CACHE_SIGNING_KEY_FILE: secret('signing', age),
    });
    const variables = Object.keys(contents('old'));
    let mountedAtMs = 0;
    /** As Kubernetes does it, by a link that is replaced. */
    const mount = (age: Age): void => {
      mountedAtMs = Date.now();
      mkdirSync(join(folder, age));
      for (const [name, content] of Object.entries(contents(age)))
        writeFileSync(join(folder, age, name), content);
      symlinkSync(age, join(folder, 'next'));
      renameSync(join(folder, 'next'), join(folder, 'mounted'));
    };
    /** What is accepted from now on. */
    const accept = async (...ages: readonly Age[]): Promise<void> => {
      emulator.acceptTokens(ages.map((age) => secret('token', age)));
      emulator.acceptSecrets(ages.map((age) => secret('client', age)));
      emulator.revokeIssued();
      front.requireClientOf(ages.map((age) => clientAuthorities[age].cert).join(''));
      const passwords = ages.map((age) => `>${secret('redis', age)}`).join(' ');
      await redis.command(`ACL SETUSER bff reset on ${passwords} ~* &* +@all`);
      if (ages.length === 1) await redis.command('CLIENT KILL USER bff');
    };

    await accept('old');
    mount('old');
    const service = runService({
      ...Object.fromEntries(variables.map((name) => [name, join(folder, 'mounted', name)])),
      PROVIDER_ENVIRONMENT: 'production',
      PROVIDER_PRODUCTION_BASE_URL: front.url,
      PROVIDER_ACCESS_TOKEN: '',
      ...(what === 'client' && {
        PROVIDER_TOKEN_URL: `${front.url}/oauth/token`,
        PROVIDER_CLIENT_ID: 'emulator-client',
      }),
      CACHE_TTL: '500ms',
    });
    const [, , managementUrl = ''] = await service.says(LISTENING);
    const refresh = (age: Age) => postRefresh(managementUrl, { token: secret('management', age) });
    const verified = async (age: Age): Promise<void> => {
      const { body } = await refresh(age).expect(200);
      expect(body.shared).toBe(true);
      expect(Object.keys(body.secretFiles).toSorted()).toEqual(variables.toSorted());
      const files = Object.values<{ contentSince: string }>(body.secretFiles);
      const since = files.map(({ contentSince }) => Date.parse(contentSince));
      expect(Math.min(...since)).toBeGreaterThanOrEqual(mountedAtMs);
    };
    await verified('old');
    await accept('old', 'new');
    mount('new');
    await verified('new');
    await accept('new');
    await refresh('old').expect(401);
    // A renewal that begins with what is accepted now.
    const calls = emulator.listCalls();
    await eventually(() => emulator.listCalls() > calls + 1);
    await verified('new');
    expect(front.clients.at(-1)).toBe('new client');
    // With so short a TTL, a busy machine may look while a list is being replaced.
    await eventually(async () => {
      const { body } = await supertest(managementUrl).get('/healthz');
      return body.status === 'pass' && body.list.failingSince === null;
    });
    expect(service.output()).not.toContain('of-more-than-32');
  });
});
