import { expect, test } from '@jest/globals';
import { SANDBOX } from '../helpers/sandbox.ts';
import { startRig, type Rig } from '../helpers/rig.ts';

// A provider that puts the access token into the name of a field, which messages may show.

const MANAGEMENT_TOKEN = 'a-management-token';

/** All that operators can read, once this list has been loaded. */
const readAll = async (rig: Rig, banks: readonly unknown[]): Promise<string> => {
  rig.emulator.setBanks(banks);
  const refresh = await fetch(`${rig.managementUrl}/refresh`, {
    method: 'POST',
    headers: { authorization: `Bearer ${MANAGEMENT_TOKEN}` },
  });
  const paths = ['/', '/healthz', '/readyz', '/metrics'];
  const texts = await Promise.all(
    paths.map(async (path) => (await fetch(`${rig.managementUrl}${path}`)).text()),
  );
  return [await refresh.text(), ...texts, rig.log()].join('\n');
};

test('of a field that is an object, no member is shown that is a secret', async () => {
  const token = SANDBOX.PROVIDER_ACCESS_TOKEN;
  const rig = await startRig({
    env: { MANAGEMENT_TOKEN, BANK_FIELDS: 'code,participant_short_name' },
  });
  const text = await readAll(rig, [{ code: '1', participant_short_name: { [token]: 'x' } }]);
  expect(text).toContain('BANK_FIELDS names objects: participant_short_name');
  expect(text).not.toContain(token);
});

test('of a field that appears, no part of a secret is logged, however long it is', async () => {
  const token = `${'long-token-'.repeat(8)}end`;
  const rig = await startRig({
    env: { MANAGEMENT_TOKEN, BANK_FIELDS: 'code', PROVIDER_ACCESS_TOKEN: token },
    emulator: { accessTokens: [token], banks: [{ code: '1' }] },
  });
  expect(await readAll(rig, [{ code: '1' }])).not.toContain('fieldsAppeared');
  const text = await readAll(rig, [{ code: '2', [token]: 'x', in: { [token]: 'x' } }]);
  expect(text).toContain('"fieldsAppeared":["[redacted]","in.[redacted]"]');
  expect(text).not.toContain(token.slice(0, 20));
});
