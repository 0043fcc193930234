import { expect, test } from '@jest/globals';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import type { Behaviour } from '../../emulator/behaviours.ts';
import type { Freshness } from '../../src/banks/freshness.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { html as toHtml } from '../../src/management/status-page/html.ts';
import { BANKS, UNUSABLE } from '../helpers/emulate.ts';
import { nextLoad, startLoadedRig, startRig, type Rig } from '../helpers/rig.ts';
import { PRODUCTION } from '../helpers/sandbox.ts';
import { eventually } from '../helpers/wait-until.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// What the status page says in each state of the service, and that /healthz, /readyz, the metrics
// and a user agree with it. Every rig starts at 00:16:40 on 1 January, and renews its list at
// 01:16:17.

const HOUR_MS = 3_600_000;
const RENEWAL_MS = HOUR_MS - 22_500;
const TOKEN = 'emulator-access-token';

let rig: Rig;

const isLoaded = (): boolean => rig.service.list.status().nextLoadInMs > 0;
/** Lets the next load meet this. */
const meet = async (behaviour: Behaviour): Promise<void> => {
  await rig.emulator.behave(behaviour);
  await nextLoad(rig);
};
const logged = (text: string) =>
  eventually(() => rig.messages().some((message) => message.includes(text)));

const get = (path: string) => supertest(rig.managementUrl).get(path);
const html = async (): Promise<string> => (await get('/').expect(200)).text;
/** The page as text, without what the script shows when there is no contact. */
const page = async (): Promise<string> =>
  (await html())
    .replace(/<template[^]*?<\/template\s*>/, '')
    .replaceAll(/<[^>]*>|[\s\u00A0]+/g, ' ')
    .replaceAll(/ +/g, ' ');

interface State {
  readonly env?: EnvironmentVariables;
  /** What the provider does, load by load; by default one succeeds. */
  readonly loads?: readonly [Behaviour, ...Behaviour[]];
  /** How much time passes after that. */
  readonly laterMs?: number;
  /** Whether it then shuts down. */
  readonly drains?: true;
  readonly list: Freshness;
  /** The title first, which repeats the headline. */
  readonly says: readonly string[];
}
const SEVERITIES: Readonly<Record<string, string>> = { '✓': 'ok', '!': 'warning', '✕': 'error' };
const STATES: Readonly<Record<string, State>> = {
  'a fresh list': {
    list: 'fresh',
    says: [
      `✓ sandbox: Users get the current list. – ${hostname()} banks-bff 0.0.0-test on ${hostname()} , sandbox`,
      `Users get ${BANKS.length} banks code, ispb, name`,
      'Age of the list 0 s from 00:16:40, current for another 1 h',
      'Last change 0 s ago of the content, at 00:16:40',
      'Next renewal in 1 h at 01:16:17',
    ],
  },
  'one that cannot be renewed': {
    list: 'fresh',
    loads: ['healthy', 'unavailable', 'unavailable'],
    says: [
      '! sandbox: Users get the current list, but it cannot be renewed.',
      'and can be served as an old list for 7 d after that.',
      ' s), 2 attempts, HTTP 503. Details: the provider fails (503).',
      'Renewals per minute 1 succeeded, 2 failed 2 0 2',
    ],
  },
  'the same list, renewed after a failure': {
    list: 'fresh',
    loads: ['healthy', 'unavailable', 'healthy'],
    says: [
      '✓ sandbox: Users get the current list.',
      ' s from 01:16:18, current for another 1 h',
      'Last change 1 h ago of the content, at 00:16:40',
    ],
  },
  'a stale list': {
    list: 'stale',
    env: { CACHE_MAX_STALE: '5h' },
    loads: ['healthy', 'unauthorized'],
    laterMs: 2 * HOUR_MS - RENEWAL_MS,
    says: [
      '! sandbox: Users get an old list.',
      'which is 2 h old. It expires in 4 h (06:16:40); after that users get errors.',
      'HTTP 401. Details: the provider does not accept the token (401); check PROVIDER_ACCESS_TOKEN.',
      'renewal overdue for 1 h',
    ],
  },
  'an expired list that is about to be renewed': {
    list: 'expired',
    env: { CACHE_MAX_STALE: '5h' },
    laterMs: 8.5 * HOUR_MS,
    says: [
      '! sandbox: A list is being loaded.',
      'There is no list to serve. Requests for /banks wait for one, at most for PROVIDER_TIMEOUT; after that they get an error.',
      'Users get nothing yet: requests wait for a list',
      'expired 2 h 30 min ago',
    ],
  },
  'an expired list that cannot be renewed': {
    list: 'expired',
    env: { CACHE_MAX_STALE: '5h' },
    loads: ['some-unusable', 'unavailable'],
    laterMs: 8 * HOUR_MS,
    says: [
      '✕ sandbox: Users get errors: the cached list has expired.',
      'It is older than CACHE_TTL plus CACHE_MAX_STALE and is not served.',
      'Users get errors instead of a list',
    ],
  },
  'no list': {
    list: 'empty',
    loads: ['html'],
    says: [
      '✕ sandbox: Users get errors: there is no cached list.',
      'Failing since 00:16:40 (0 s), 1 attempt. Details:',
      'Age of the list no list since the start',
    ],
  },
  'no list yet': {
    list: 'empty',
    loads: ['hang'],
    says: [
      '! sandbox: A list is being loaded.',
      'Users get nothing yet',
      'Next renewal in progress',
    ],
  },
  'a list that was refused': {
    list: 'fresh',
    loads: ['healthy', 'renamed-field'],
    says: [
      '! sandbox: Users get the current list, but it cannot be renewed.',
      'name: filled in 100 % of entries before, 0 % now',
      'curl -X POST -H &#34;Authorization: Bearer ${MANAGEMENT_TOKEN:?is not set}&#34; &#39;http://127.0.0.1',
      'POST /refresh is disabled',
    ],
  },
  'rejected entries': {
    list: 'fresh',
    loads: ['some-unusable'],
    says: [
      '! sandbox: Users get the current list, but something needs attention.',
      `The list is without ${UNUSABLE} rejected entries, which cannot be published.`,
      `Details: ${UNUSABLE} not_an_object.`,
      `Users get ${BANKS.length - UNUSABLE} banks code, ispb, name`,
    ],
  },
  'an incomplete list': {
    list: 'fresh',
    loads: ['paginated'],
    says: [
      '! sandbox: Users get the current list, but something needs attention.',
      'The list is probably incomplete',
      'Ask the provider for an address, or a setting for PROVIDER_QUERY,',
    ],
  },
  'a drain': {
    list: 'fresh',
    drains: true,
    says: [
      '! sandbox: This instance is shutting down.',
      'Requests in progress can finish within SHUTDOWN_GRACE; then it exits. For now: Users get the current list.',
    ],
  },
  'a drain without a list': {
    list: 'empty',
    loads: ['html'],
    drains: true,
    says: ['✕ sandbox: This instance is shutting down.', 'For now: Users get errors'],
  },
  'a production without a list': {
    list: 'empty',
    env: PRODUCTION,
    says: ['✕ PRODUCTION: Users get errors', ' PRODUCTION banks-bff '],
  },
};

test.each(Object.entries(STATES))('with %s all that operators see agrees', async (_what, state) => {
  const { env = {}, loads: [first, ...others] = ['healthy'], laterMs = 0, drains, says } = state;
  rig = await startRig({ env, before: (emulator) => emulator.behave(first) });
  if (first !== 'hang') await eventually(isLoaded);
  for (const behaviour of others) await meet(behaviour);
  rig.clock.skip(laterMs);
  const isServed = state.list === 'fresh' || state.list === 'stale';
  const { failing } = rig.service.list.status();
  const { status, list } = (await get('/healthz')).body;
  const isWell = state.list === 'fresh' && !failing;
  expect([status, list.state]).toEqual([isWell ? 'pass' : 'warn', state.list]);
  expect(list.failingSince !== null).toBe(failing !== undefined);
  expect((await get('/metrics')).text).toContain(`banks_list_state{state="${state.list}"} 1\n`);
  expect((await get('/readyz')).status).toBe(isServed ? 200 : 503);
  // Without a failure it would wait.
  const isAnswered = isServed || failing !== undefined;
  const answer = isAnswered ? await fetch(`${rig.url}/banks`) : undefined;
  expect(answer?.status === 200).toBe(isServed);
  if (drains) void rig.service.stop({ noticeMs: 3_000 });
  const [text, source] = [await page(), await html()];
  expect(says.filter((sentence) => !text.includes(sentence))).toEqual([]);
  // What the list lacks concerns nobody who gets none.
  expect(isServed || !text.includes('The list is without')).toBe(true);
  expect(source).toContain(`data-severity="${SEVERITIES[says[0]?.[0] ?? '']}"`);
  expect(source.includes('PRODUCTION')).toBe(env === PRODUCTION);
  expect(source.match(/<svg/g)).toHaveLength(4);
  const secrets = [TOKEN, PRODUCTION.PROVIDER_ACCESS_TOKEN, new URL(rig.emulator.baseUrl).host];
  expect(secrets.filter((secret) => source.includes(secret))).toEqual([]);
});

test('its drawings show the last hour by the minute, and later the last six hours', async () => {
  rig = await startLoadedRig({ before: (emulator) => emulator.behave('unavailable') });
  await supertest(rig.url).get('/banks').expect(503);
  await supertest(rig.url).get('/nothing').expect(404);
  await eventually(() => rig.requests('/nothing').length > 0);
  await meet('healthy');
  await rig.emulator.behave('hang');
  rig.clock.advance(rig.service.list.status().nextLoadInMs);
  await eventually(() => rig.emulator.listCalls() === 3);
  rig.clock.advance(5_000);
  await eventually(isLoaded);
  await meet('healthy');
  const text = await page();
  for (const caption of [
    'Age of the cached list at most 1 h 2 h 0 1 h ago now stale after 1 h',
    'Renewals per minute 2 succeeded, 2 failed 1 0 1 1 h ago now succeeded, upwards failed, downwards',
    'Provider’s response time at most 5 s 5 s 0 1 h ago now',
    'Requests per minute 2 requests, at most 2 2 0 1 h ago now all answered with 5xx: 1',
  ])
    expect(text).toContain(caption);
  // Two minutes with successes, two with failures; two with requests, one of which with a 5xx.
  const bars = [...(await html()).matchAll(/<rect\s+class="(\w+)"/g)].map(([, kind]) => kind);
  expect(bars.join(' ')).toBe('ok ok failed failed plain plain failed');

  rig.clock.skip(13 * HOUR_MS);
  expect(await page()).toContain('Age of the cached list at most 13 h 15 h 0 6 h ago now');
});

test('it is not cached, and its command has the address by which the page was reached, if that is allowed', async () => {
  rig = await startLoadedRig();
  await meet('renamed-field');
  const { text, headers } = await supertest(rig.managementUrl)
    .get('/')
    .set('Host', 'localhost:9999');
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(headers['cache-control']).toBe('no-store');
  expect(text).toContain('&#39;http://localhost:9999/refresh?accept=drifted&#39;');
  expect(text).not.toContain('accept=shrunk');
});

test('whatever is put into the page is text', () => {
  expect(toHtml`<b>${`<&"'>`}</b>`.html).toBe('<b>&#60;&#38;&#34;&#39;&#62;</b>');
});

test('failing stores are told with their consequences, without addresses, until they work', async () => {
  const lists = join(temporaryFolder(), 'missing');
  rig = await startLoadedRig({
    env: {
      CACHE_SNAPSHOT_FILE: join(lists, 'list'),
      // A free port may be taken by another program meanwhile; nobody is given one below 1024.
      CACHE_REDIS_URL: 'redis://user:SECRET-password@127.0.0.1:997',
    },
  });
  for (const line of ['CACHE_REDIS_URL: ', 'be written']) await logged(line);
  rig.clock.skip(65_000);
  const text = await page();
  for (const sentence of [
    '! sandbox: Users get the current list, but something needs attention.',
    'Redis (CACHE_REDIS_URL) cannot be used. Each replica loads the list by itself',
    'The snapshot file (CACHE_SNAPSHOT_FILE) cannot be used.',
    'Failing since 00:16:40 (65 s). Details: cannot be written (ENOENT)',
  ])
    expect(text).toContain(sentence);
  for (const secret of ['SECRET', '997']) expect(text).not.toContain(secret);
  expect(text.match(/node dist\/src\/main\.js doctor/g)).toHaveLength(1);
  expect((await get('/healthz')).body).toMatchObject({
    status: 'warn',
    stores: {
      CACHE_REDIS_URL: { works: false },
      CACHE_SNAPSHOT_FILE: { works: false, failingSince: '2026-01-01T00:16:40.000Z' },
    },
  });

  // It says the newest reason, and since when there has been one.
  writeFileSync(lists, '');
  await meet('healthy');
  await eventually(async () =>
    /Failing since 00:16:40 [^.]*\. Details: [^.]*ENOTDIR/.test(await page()),
  );

  rmSync(lists);
  mkdirSync(lists);
  await meet('healthy');
  await logged('CACHE_SNAPSHOT_FILE: works again');
  expect(await page()).not.toContain('CACHE_SNAPSHOT_FILE');

  // What users get comes first.
  await meet('unavailable');
  rig.clock.skip(8 * 24 * HOUR_MS);
  expect(await page()).toContain('✕ sandbox: Users get errors: the cached list has expired.');
});
