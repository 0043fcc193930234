import { expect, test } from '@jest/globals';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { createAuthority, type Pair } from '../helpers/authority.ts';
import { emulate } from '../helpers/emulate.ts';
import { describeWithProxy, startForwardProxy } from '../helpers/forward-proxy.ts';
import { expectFailure, runDoctor, type DoctorReport } from '../helpers/run-doctor.ts';
import { startTlsFront } from '../helpers/tls-front.ts';

// The doctor about what stands between the service and the provider: proxies, mutual TLS, private
// authorities.

const authority = createAuthority();
const server = authority.issue('localhost');
const client = authority.issue('the service');
const PASSWORD = 'canary-Pr0xy.password_1';

const TRUSTING = { PROVIDER_TLS_CA_FILE: authority.certFile };
const mutual = (pair: Pair): EnvironmentVariables => ({
  ...TRUSTING,
  PROVIDER_TLS_CERT_FILE: pair.certFile,
  PROVIDER_TLS_KEY_FILE: pair.keyFile,
});

const doctor = (env: EnvironmentVariables): Promise<DoctorReport> =>
  runDoctor(env, [PASSWORD, ...client.key.split('\n').slice(1, -2)]);

const startProvider = async (host = '127.0.0.1'): Promise<string> => {
  const { baseUrl } = await emulate();
  const clientAuthority = authority.cert;
  return (await startTlsFront({ to: baseUrl, pair: server, clientAuthority, host })).url;
};

describeWithProxy('a forward proxy', () => {
  test('is passed over mutual TLS', async () => {
    const proxy = await startForwardProxy({ credentials: { user: 'user', password: PASSWORD } });
    const { status, linesOf } = await doctor({
      ...mutual(client),
      PROVIDER_SANDBOX_BASE_URL: await startProvider(),
      HTTPS_PROXY: `http://user:${PASSWORD}@127.0.0.1:${proxy.port}`,
    });
    expect(status).toBe(0);
    expect(linesOf('address')).toMatch(
      /connected to 127\.0\.0\.1 port \d+ after \d+ ms, TLSv1\.3, certificate valid until \S/,
    );
  });

  test('that refuses the user fails at the address', async () => {
    const proxy = await startForwardProxy({ credentials: { user: 'user', password: 'other' } });
    const env = {
      ...TRUSTING,
      PROVIDER_SANDBOX_BASE_URL: await startProvider(),
      HTTPS_PROXY: `http://user:${PASSWORD}@127.0.0.1:${proxy.port}`,
    };
    expectFailure(await doctor(env), ['address', /\(401\)/, 'HTTPS_PROXY']);
  });

  test('that hangs fails at the address', async () => {
    const proxy = await startForwardProxy();
    proxy.stall();
    const env = {
      PROVIDER_SANDBOX_BASE_URL: await startProvider(),
      PROVIDER_TIMEOUT: '1s',
      https_proxy: proxy.url,
    };
    expectFailure(await doctor(env), [
      'address',
      /no complete response from the provider within 1000 ms/,
      'HTTPS_PROXY',
    ]);
  });
});

test('a certificate of an unknown authority, or for another name, fails at the address', async () => {
  expectFailure(await doctor({ PROVIDER_SANDBOX_BASE_URL: await startProvider() }), [
    'address',
    /is not trusted/,
    'PROVIDER_TLS_CA_FILE',
  ]);
  const address = (await startProvider('127.0.0.2')).replace('localhost', '127.0.0.2');
  expectFailure(await doctor({ ...mutual(client), PROVIDER_SANDBOX_BASE_URL: address }), [
    'address',
    /is for another name than the configured address has/,
    'PROVIDER_SANDBOX_BASE_URL',
  ]);
});
