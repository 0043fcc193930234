import { expect, test } from '@jest/globals';
import supertest from 'supertest';
import { parseConfig } from '../../../src/config/config.ts';
import type { EnvironmentVariables } from '../../../src/config/variables.ts';
import { createService } from '../../../src/service.ts';
import { closeLater } from '../../helpers/close-later.ts';
import { runDoctor } from '../../helpers/run-doctor.ts';
import {
  LEGACY_SCOPE,
  startClearingHouse,
  startFintechHub,
  startLegacyGateway,
} from './providers.ts';

// Whoever follows the doctor ends with a list, also of providers that share none of the emulator's
// assumptions. Nothing of the emulator is used here.

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

const AUTH = 'PROVIDER_TOKEN_AUTH (basic, basic_plain or post)';
const HUB_FIELDS =
  'id,name:attributes.display-name,code:attributes.codes.clearing,products:attributes.products';

test.each<{
  what: string;
  start: () => Promise<EnvironmentVariables>;
  /** What the doctor says, and what is then set. The last one is BANK_FIELDS. */
  steps: readonly (readonly [says: string, EnvironmentVariables])[];
  bank: object;
}>([
  {
    what: 'a clearing house that does not decode Basic, with its numbers in an object',
    start: startClearingHouse,
    steps: [
      [AUTH, { PROVIDER_TOKEN_AUTH: 'basic_plain' }],
      [
        'BANK_FIELDS=ispb:ids.ispb,compe:ids.compe,name,active',
        { BANK_FIELDS: 'ispb:ids.ispb,compe:ids.compe,name' },
      ],
    ],
    bank: { ispb: '00038121', compe: null, name: 'Selic' },
  },
  {
    what: 'a hub with JSON, 201, no token_type, JSON:API and pages',
    start: startFintechHub,
    steps: [
      ['PROVIDER_TOKEN_FORMAT (form or json)', { PROVIDER_TOKEN_FORMAT: 'json' }],
      ['BANK_LIST=data', { BANK_LIST: 'data' }],
      ['name:attributes.display-name', { BANK_FIELDS: HUB_FIELDS }],
    ],
    bank: { id: '3', name: 'Banco Três', code: '102', products: ['pix', 'ted'] },
  },
  {
    what: 'a gateway that reads credentials from the form, with a list two objects deep',
    start: startLegacyGateway,
    steps: [
      [AUTH, { PROVIDER_TOKEN_AUTH: 'post' }],
      ['invalid_scope', { PROVIDER_TOKEN_SCOPE: LEGACY_SCOPE }],
      ['BANK_LIST=response.body.banks', { BANK_LIST: 'response.body.banks' }],
      ['cod.banco', { BANK_FIELDS: 'code:cod.banco,name:nome.curto,fullName:nome.completo?' }],
    ],
    bank: { code: 104, name: 'CAIXA', fullName: null },
  },
])('the doctor configures $what', async ({ start, steps, bank }) => {
  let env: EnvironmentVariables = { PROVIDER_ACCESS_TOKEN: '', BANK_FIELDS: '', ...BASE };
  env = { ...env, ...(await start()) };
  for (const [says, setting] of steps) {
    const { status, text } = await runDoctor(env);
    expect(text).toContain(says);
    // Without BANK_FIELDS every field is published.
    expect(status).toBe('BANK_FIELDS' in setting ? 0 : 1);
    env = { ...env, ...setting };
  }
  expect(await runDoctor(env)).toMatchObject({ status: 0 });
  expect(await banksWith(env)).toContainEqual(bank);
});
