import { expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BANKS, emulate, makeBanks, UNUSABLE } from '../helpers/emulate.ts';
import { postRefresh } from '../helpers/management-port.ts';
import { nextLoad, startLoadedRig, type Rig } from '../helpers/rig.ts';
import { MANAGEMENT_TOKEN } from '../helpers/sandbox.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { eventually } from '../helpers/wait-until.ts';

// The log tells each change of state in one line, and nothing of the retries in between.

/** The lines since the last call, but those of requests and `listening`. */
const createReader = (rig: Rig) => {
  let seen = 0;
  return (): string[] => {
    const lines = rig.log().trimEnd().split('\n').slice(seen);
    seen += lines.length;
    // Datadog would take it for the level.
    expect(lines.filter((line) => line.includes('"status":'))).toEqual([]);
    return lines
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg !== 'request' && msg !== 'listening')
      .map(({ severity, msg }) => `${severity} ${msg}`);
  };
};

test('a failure makes one line for each state of the list, however often loads fail, and its end makes one', async () => {
  const rig = await startLoadedRig({ env: { CACHE_MAX_STALE: '5h' } });
  const told = createReader(rig);
  expect(told()).toEqual(['INFO list: initial load succeeded']);
  await nextLoad(rig);
  expect(told()).toEqual([]);
  await rig.emulator.behave('unavailable');
  const fail = async (): Promise<string[]> => {
    for (let load = 0; load < 3; load += 1) await nextLoad(rig);
    return told();
  };
  const FAILED = 'list: load failed: the provider fails (503)';
  expect(await fail()).toEqual([`WARNING ${FAILED}; the cached list is still fresh`]);
  rig.clock.skip(2 * 3_600_000);
  expect(await fail()).toEqual(['WARNING list: not renewed in time; the stale list is served']);
  rig.clock.skip(6 * 3_600_000);
  expect(await fail()).toEqual([
    'ERROR list: not renewed in time; the cached list is too old to be served',
  ]);
  await rig.emulator.behave('html');
  expect(await fail()).toEqual([expect.stringMatching(/^ERROR list: load failed: .* JSON/)]);
  await rig.emulator.behave('healthy');
  await nextLoad(rig);
  await nextLoad(rig);
  expect(told()).toEqual(['INFO list: recovered']);
  await rig.emulator.behave('html');
  expect(await fail()).toEqual([expect.stringMatching(/^WARNING list: load failed: .* JSON/)]);
});

test('a list that became old while the machine slept is told once, and whether it is renewed', async () => {
  const rig = await startLoadedRig();
  const told = createReader(rig);
  told();
  const NOT_RENEWED = 'WARNING list: not renewed in time; the stale list is served';
  rig.clock.skip(2 * 3_600_000);
  await nextLoad(rig);
  expect(told()).toEqual([NOT_RENEWED, 'INFO list: recovered']);
  rig.clock.skip(2 * 3_600_000);
  for (const status of [503, 500, 502]) {
    rig.emulator.respondWith((_req, res) => res.writeHead(status).end());
    await nextLoad(rig);
  }
  expect(told()).toEqual([
    NOT_RENEWED,
    'WARNING list: load failed: the provider fails (503); the stale list is served',
  ]);
});

test('what is new about a list is told once', async () => {
  const rig = await startLoadedRig({ env: { MANAGEMENT_TOKEN } });
  const told = createReader(rig);
  told();
  const meet = async (banks: readonly unknown[]): Promise<string[]> => {
    rig.emulator.setBanks(banks);
    await nextLoad(rig);
    await nextLoad(rig);
    return told();
  };
  expect(await meet(BANKS.slice(1))).toEqual(['INFO list: changed']);
  // Also where only the order is another one.
  expect(await meet(BANKS.slice(1).toReversed())).toEqual(['INFO list: changed']);
  // A fifth of the list before: 25 more than 120 are, and 25 fewer than 145 are not.
  const large = ['WARNING list: changed by more than GUARD_MAX_SHRINK'];
  expect(await meet(makeBanks(BANKS.length))).toEqual(large);
  expect(await meet(makeBanks(BANKS.length + 25))).toEqual(large);
  expect(await meet(makeBanks(BANKS.length))).toEqual(['INFO list: changed']);
  const unusable = Array.from({ length: UNUSABLE }, () => 'no object');
  expect(await meet([...makeBanks(BANKS.length), ...unusable])).toEqual([
    'WARNING list: unusable entries were rejected',
  ]);
  expect(await meet(makeBanks(BANKS.length))).toEqual(['INFO list: all entries are usable again']);

  rig.emulator.respondWith((_req, res) =>
    res
      .setHeader('Link', ['</1>; rel="first"', '</2>; rel="next"'])
      .end(JSON.stringify(makeBanks(BANKS.length))),
  );
  await nextLoad(rig);
  expect(told()).toEqual([expect.stringMatching(/^WARNING list: probably incomplete: /)]);
  rig.emulator.respondWith((_req, res) =>
    res
      .setHeader('Link', '</a>; rel="https://example.com/rels/next next-archive"')
      .end(JSON.stringify(makeBanks(BANKS.length))),
  );
  await nextLoad(rig);
  expect(told()).toEqual(['INFO list: no longer incomplete']);
  rig.emulator.respondWith(undefined);

  expect(await meet(makeBanks(10))).toEqual([
    expect.stringMatching(/^WARNING list: load failed: the list shrank from 120 to 10 entries; /),
  ]);
  await postRefresh(rig.managementUrl, { query: '?accept=shrunk' })
    .set('X-Request-Id', 'the-request')
    .expect(200);
  expect(told()).toEqual(
    expect.arrayContaining(['INFO list: recovered', 'WARNING list: accepted by an operator']),
  );
  expect(rig.log()).toMatch(
    /"reasons":\["shrunk"\],"requestId":"the-request".*"msg":"list: accepted by an operator"/,
  );
});

test('after a restart the first line says where the list is from, and what is served', async () => {
  const provider = await emulate();
  const env = { CACHE_SNAPSHOT_FILE: join(temporaryFolder(), 'list') };
  const first = await startLoadedRig({ env, provider });
  await eventually(() => existsSync(env.CACHE_SNAPSHOT_FILE));
  await first.close();
  await provider.behave('unavailable');
  const rig = await startLoadedRig({ env, provider, startedLaterByMs: 2 * 3_600_000 });
  expect(createReader(rig)()).toEqual([
    'INFO list: restored the saved list; the stale list is served',
    'WARNING list: load failed: the provider fails (503); the stale list is served',
  ]);
  expect(rig.log()).toContain('"source":"snapshot"');
});

test('a value of BANK_FIELDS is suggested once, without names that cannot stand there or could write to a terminal', async () => {
  const names = ['a\u001b[31mred', 'b\u202Egnp.exe', 'na me', 'a:b', 'x,y', 'x'.repeat(90)];
  const bank = {
    a: { code: '1', ['__proto__']: '1' },
    b: { code: '1' },
    c: { d: { name: '1' } },
    e: { d: { name: '1' } },
    g: { línea: '1' },
    ids: { tax: { cnpj: '1' } },
    línea: '1',
    ...Object.fromEntries(names.map((name) => [name, '1'])),
  };
  // A field that few entries have is optional.
  const banks = [
    { code: '1', ...bank },
    { code: '2', ...bank },
    { code: '3', ...bank, logo: '1' },
  ];
  const rig = await startLoadedRig({ env: { BANK_FIELDS: '' }, emulator: { banks } });
  await nextLoad(rig);
  expect(rig.messages().filter((message) => message.includes('BANK_FIELDS='))).toEqual([
    'list: every field of the provider is published; to choose some, set BANK_FIELDS=code,a.code,b.code,c.d.name,e.d.name,g.línea,cnpj:ids.tax.cnpj,línea,logo?',
  ]);
  expect(rig.log()).not.toMatch(/red|gnp|xxx|na me|a:b|x,y/);
});
