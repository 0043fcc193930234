import { expect, test } from '@jest/globals';
import supertest from 'supertest';
import { parseConfig } from '../../../src/config/config.ts';
import type { EnvironmentVariables } from '../../../src/config/variables.ts';
import { createService } from '../../../src/service.ts';
import { closeLater } from '../../helpers/close-later.ts';
import { runDoctor } from '../../helpers/run-doctor.ts';
import { CLIENT_ID, CLIENT_SECRET, startClearingHouse } from './clearing-house.ts';
import { FintechHub, HUB_CLIENT } from './fintech-hub.ts';
import { openLegacyGateway } from './legacy-gateway.ts';

// Three providers that were written from one paragraph about the provider alone, before the service
// was read. They share none of the emulator's assumptions; nothing of the emulator is used here.

const BASE: EnvironmentVariables = {
  HOST: '127.0.0.1',
  PORT: '0',
  MANAGEMENT_PORT: 'off',
  PROVIDER_ENVIRONMENT: 'sandbox',
};

/** What the service publishes. */
const banksWith = async (env: EnvironmentVariables): Promise<unknown> => {
  const service = createService(parseConfig({ ...BASE, ...env }), {
    version: '0.0.0-test',
    logDestination: { write: () => undefined },
  });
  const { publicUrl } = await service.start();
  closeLater(() => service.stop({ noticeMs: 0 }));
  return (await supertest(publicUrl).get('/banks')).body;
};

const doctorOf = (env: EnvironmentVariables) =>
  runDoctor({ PROVIDER_ACCESS_TOKEN: '', BANK_FIELDS: '', ...BASE, ...env });

/** Each setting is added once the doctor has named its variable; with all of them a list is served. */
const expectConfigured = async (
  env: EnvironmentVariables,
  settings: readonly (readonly [names: string, EnvironmentVariables])[],
): Promise<EnvironmentVariables> => {
  let found = env;
  for (const [names, setting] of settings) {
    const { status, text } = await doctorOf(found);
    expect(text).toContain(names);
    if (!Object.hasOwn(setting, 'BANK_FIELDS')) expect(status).toBe(1);
    found = { ...found, ...setting };
  }
  expect(await doctorOf(found)).toMatchObject({ status: 0 });
  return found;
};

test('the doctor configures a clearing house that does not decode Basic, with its numbers in an object', async () => {
  const provider = await startClearingHouse();
  closeLater(() => provider.close());
  const env = {
    PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
    PROVIDER_TOKEN_URL: provider.tokenUrl,
    PROVIDER_CLIENT_ID: CLIENT_ID,
    PROVIDER_CLIENT_SECRET: CLIENT_SECRET,
  };
  const found = await expectConfigured(env, [
    ['PROVIDER_TOKEN_AUTH (basic, basic_plain or post)', { PROVIDER_TOKEN_AUTH: 'basic_plain' }],
    [
      'BANK_FIELDS=ispb:ids.ispb,compe:ids.compe,name,active',
      { BANK_FIELDS: 'ispb:ids.ispb,compe:ids.compe,name' },
    ],
  ]);
  expect(await banksWith(found)).toContainEqual({ ispb: '00038121', compe: null, name: 'Selic' });
});

test('the doctor configures a hub with JSON, 201, no token_type, JSON:API and pages', async () => {
  const hub = new FintechHub();
  const baseUrl = await hub.start();
  closeLater(() => hub.stop());
  const env = {
    PROVIDER_SANDBOX_BASE_URL: baseUrl,
    PROVIDER_TOKEN_URL: `${baseUrl}/v1/authentication`,
    PROVIDER_CLIENT_ID: HUB_CLIENT.id,
    PROVIDER_CLIENT_SECRET: HUB_CLIENT.secret,
  };
  const found = await expectConfigured(env, [
    ['PROVIDER_TOKEN_FORMAT (form or json)', { PROVIDER_TOKEN_FORMAT: 'json' }],
    ['BANK_LIST=data', { BANK_LIST: 'data' }],
    [
      'name:attributes.display-name',
      {
        BANK_FIELDS:
          'id,name:attributes.display-name,code:attributes.codes.clearing,products:attributes.products',
      },
    ],
  ]);
  expect((await doctorOf(found)).linesOf('list')).toContain('names a next page');
  expect(await banksWith(found)).toContainEqual({
    id: '3',
    name: 'Banco Três',
    code: '102',
    products: ['pix', 'ted'],
  });
});

test('the doctor configures a gateway that reads credentials from the form, with a list two objects deep', async () => {
  const gateway = await openLegacyGateway();
  closeLater(() => gateway.close());
  const env = {
    PROVIDER_SANDBOX_BASE_URL: gateway.apiUrl,
    PROVIDER_TOKEN_URL: gateway.authUrl,
    PROVIDER_CLIENT_ID: gateway.clientId,
    PROVIDER_CLIENT_SECRET: gateway.clientSecret,
  };
  const found = await expectConfigured(env, [
    ['PROVIDER_TOKEN_AUTH (basic, basic_plain or post)', { PROVIDER_TOKEN_AUTH: 'post' }],
    ['invalid_scope', { PROVIDER_TOKEN_SCOPE: gateway.scope }],
    ['BANK_LIST=response.body.banks', { BANK_LIST: 'response.body.banks' }],
    ['cod.banco', { BANK_FIELDS: 'code:cod.banco,name:nome.curto,fullName:nome.completo?' }],
  ]);
  expect(await banksWith(found)).toContainEqual({ code: 104, name: 'CAIXA', fullName: null });
});
