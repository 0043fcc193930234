import { afterEach, describe, expect, test } from '@jest/globals';
import type { LookupFunction } from 'node:net';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { Environment } from '../../src/config/reader.ts';
import { createAuthority, type Pair } from '../kit/authority.ts';
import { startAlertingServer } from '../kit/alerting-server.ts';
import { describeWithHaproxy } from '../kit/haproxy.ts';
import { clientCredentialsEnv, eventually, nextLoad, startRig, type Rig } from '../kit/rig.ts';
import { startTlsFront, type TlsFront, type TlsFrontOptions } from '../kit/tls-front.ts';

// TLS between the service and the provider: private authorities, client certificates and their rotation, and an address
// that changes.

const authority = createAuthority();
const clientAuthority = createAuthority('authority of clients');
const server = authority.issue('localhost');
const client = clientAuthority.issue('the service');
const TRUST = { PROVIDER_TLS_CA_FILE: authority.certFile };
const mutual = (pair: Pair): Environment => ({
  ...TRUST,
  PROVIDER_TLS_CERT_FILE: pair.certFile,
  PROVIDER_TLS_KEY_FILE: pair.keyFile,
});

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

let provider: Emulator;
let front: TlsFront;

const startProvider = async (options: Partial<TlsFrontOptions> = {}): Promise<void> => {
  provider = await startEmulator();
  front = await startTlsFront({ to: provider.baseUrl, pair: server, ...options });
  closers.push(
    () => provider.close(),
    () => front.close(),
  );
};

const startService = async (env: Environment, lookup?: LookupFunction): Promise<Rig> => {
  const rig = await startRig({
    provider,
    env: { PROVIDER_SANDBOX_BASE_URL: front.url, ...env },
    ...(lookup && { lookup }),
  });
  closers.push(() => rig.close());
  return rig;
};

const getBanks = (rig: Rig) => supertest(rig.url).get('/banks');
const failureOf = (rig: Rig) => rig.service.list.status().failure;
const messages = (rig: Rig): string => rig.messages().join('\n');

describe('the provider’s certificate', () => {
  test('of a private authority is trusted by PROVIDER_TLS_CA_FILE, for the token endpoint too', async () => {
    await startProvider();
    const rig = await startService({
      ...TRUST,
      ...clientCredentialsEnv(provider),
      PROVIDER_TOKEN_URL: `${front.url}/oauth/token`,
    });
    await getBanks(rig).expect(200);
    expect(front.clients).toEqual(['none', 'none']);
    expect(provider.calls.map(({ headers }) => headers['user-agent'])).toEqual([
      'banks-bff/0.0.0-test',
      'banks-bff/0.0.0-test',
    ]);
  });

  const toLoopback: LookupFunction = (_name, _options, callback) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const unknown = /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT_LOCALLY/;
  test.each<[string, () => Environment, RegExp]>([
    ['without that file', () => ({}), unknown],
    ['with another authority in it', () => ({ PROVIDER_TLS_CA_FILE: clientAuthority.certFile }), unknown],
    [
      'for another name',
      () => ({ ...TRUST, PROVIDER_SANDBOX_BASE_URL: `https://provider.example:${front.port}` }),
      /ALTNAME_INVALID/,
    ],
  ])('is refused %s', async (_how, env, code) => {
    await startProvider();
    const rig = await startService(env(), toLoopback);
    await getBanks(rig).expect(503);
    expect(failureOf(rig)?.kind).toBe('unreachable');
    expect(messages(rig)).toMatch(code);
    expect(provider.allCalls()).toBe(0);
  });

  test.each([
    ['TLSv1.1', 503],
    ['TLSv1.2', 200],
    ['TLSv1.3', 200],
  ] as const)('with %s only: %d', async (version, status) => {
    await startProvider({ version });
    const rig = await startService(TRUST);
    await getBanks(rig).expect(status);
  });
});

describeWithHaproxy('a handshake that the provider refuses', () => {
  const handshake = /the provider refuses the TLS handshake: it requires a client certificate/;
  const refusal =
    'the provider requires a client certificate or refuses this one; check PROVIDER_TLS_CERT_FILE';
  const required = new RegExp(`${refusal}.*CERTIFICATE_REQUIRED`);
  const refused = new RegExp(`${refusal}.*UNKNOWN_CA`);
  const expired = new RegExp(`${refusal}.*CERTIFICATE_EXPIRED`);
  const stranger = authority.issue('a stranger');
  const old = clientAuthority.issue('an old client', { from: '20200101000000Z', until: '20260601000000Z' });

  test.each<[string, 'TLSv1.2' | 'TLSv1.3', Environment, RegExp]>([
    ['without a client certificate', 'TLSv1.2', TRUST, handshake],
    ['without a client certificate', 'TLSv1.3', TRUST, required],
    ['with one of another authority', 'TLSv1.3', mutual(stranger), refused],
    ['with one that has expired', 'TLSv1.2', mutual(old), expired],
  ])('%s (%s) is explained by its alert', async (_what, newestVersion, env, message) => {
    await startProvider();
    const { certFile: clientAuthorityFile } = clientAuthority;
    const alerting = await startAlertingServer({ pair: server, clientAuthorityFile, newestVersion });
    closers.push(() => alerting.close());
    const rig = await startService({ ...env, PROVIDER_SANDBOX_BASE_URL: alerting.url });
    await getBanks(rig).expect(503);
    expect(failureOf(rig)?.kind).toBe('unreachable');
    expect(messages(rig)).toMatch(message);
    expect(messages(rig)).toMatch(/ \(ERR_SSL_[\w/]+\)/);
  });
});

describe('the rotation of a client certificate', () => {
  /** As Kubernetes does: the files are reached through a link to a folder, which is replaced in one step. */
  const createVolume = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'banks-volume-'));
    closers.push(() => rm(folder, { recursive: true }));
    let generation = 0;
    const install = async (pair: Pick<Pair, 'cert' | 'key'>): Promise<void> => {
      generation += 1;
      await mkdir(join(folder, `${generation}`));
      await writeFile(join(folder, `${generation}`, 'tls.crt'), pair.cert);
      await writeFile(join(folder, `${generation}`, 'tls.key'), pair.key);
      await symlink(`${generation}`, join(folder, 'next'));
      await rename(join(folder, 'next'), join(folder, 'data'));
    };
    const env = {
      ...TRUST,
      PROVIDER_TLS_CERT_FILE: join(folder, 'data', 'tls.crt'),
      PROVIDER_TLS_KEY_FILE: join(folder, 'data', 'tls.key'),
    };
    return { install, env };
  };

  test('is followed by the next load; half done, or to unusable files, it leaves the last good pair in use', async () => {
    await startProvider({ clientAuthority: clientAuthority.cert });
    const { install, env } = await createVolume();
    await install(client);
    const rig = await startService(env);
    await getBanks(rig).expect(200);
    const other = clientAuthority.issue('another');
    const nextAuthority = createAuthority('the next authority');
    const last = nextAuthority.issue('the last');
    const rotate = async (pair: Pick<Pair, 'cert' | 'key'>): Promise<void> => {
      await install(pair);
      await nextLoad(rig);
      expect(failureOf(rig)).toBeUndefined();
    };
    await rotate({ cert: other.cert, key: client.key });
    await rotate({ cert: client.cert, key: other.key });
    await rotate({ cert: '', key: '' });
    await rotate({ cert: other.cert, key: 'not a key' });
    await rotate(other);
    front.requireClientOf(nextAuthority.cert);
    await rotate(last);
    expect(front.clients).toEqual([...Array.from({ length: 5 }, () => 'the service'), 'another', 'the last']);
  });

  test('that comes too late is named: the certificate has expired in the meantime', async () => {
    await startProvider({ clientAuthority: clientAuthority.cert });
    const soon = clientAuthority.issue('soon expired', { from: '20200101000000Z', until: '20260102000000Z' });
    const rig = await startService(mutual(soon));
    await getBanks(rig).expect(503);
    expect(failureOf(rig)?.message).toMatch(
      /closed the connection without an answer; it may require a client/,
    );
    rig.clock.skip(2 * 86_400_000);
    rig.clock.advance(0);
    await eventually(() =>
      /PROVIDER_TLS_CERT_FILE is valid only from .* to 2026-01-02; get/.test(failureOf(rig)?.message ?? ''),
    );
  });
});

test('a provider that moves to another address is found there by the next load', async () => {
  await startProvider();
  const moved = await startTlsFront({
    to: provider.baseUrl,
    pair: server,
    host: '127.0.0.2',
    port: front.port,
  });
  closers.push(() => moved.close());
  let address = '127.0.0.1';
  const rig = await startService(TRUST, (_name, _options, callback) =>
    callback(null, [{ address, family: 4 }]),
  );
  await getBanks(rig).expect(200);
  address = '127.0.0.2';
  await nextLoad(rig);
  expect(failureOf(rig)).toBeUndefined();
  expect([front.clients.length, moved.clients.length]).toEqual([1, 1]);
});
