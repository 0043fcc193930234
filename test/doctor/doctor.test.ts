import { describe, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Behaviour, TokenBehaviour } from '../../emulator/behaviours.ts';
import type { Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/reader.ts';
import { formatBytes } from '../../src/doctor/report.ts';
import { findLists, signOfPages } from '../../src/doctor/survey.ts';
import { createAuthority } from '../helpers/authority.ts';
import { makeBanks } from '../helpers/banks.ts';
import { closeLater } from '../helpers/close-later.ts';
import { listenOn } from '../helpers/free-port.ts';
import { runService } from '../helpers/process.ts';
import { clientCredentialsEnv } from '../helpers/rig.ts';
import { BANKS, UNUSABLE, emulate } from '../helpers/emulate.ts';
import { runDoctor, type DoctorReport } from '../helpers/run-doctor.ts';
import { startTlsFront } from '../helpers/tls-front.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The doctor against the emulator, for each way in which a load can fail.

const TOKEN = 'emulator-access-token';
const ALL_STEPS = [
  'configuration',
  'token',
  'address',
  'TLS',
  'status',
  'content',
  'list',
  'entries',
];

/** What the doctor says of `emulator`. */
const diagnose = (emulator: Emulator, env: EnvironmentVariables = {}) =>
  runDoctor({ PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl, ...env });

const fileWith = (content: string): string => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, content);
  return path;
};

/** The result of a report in which every step has passed. */
const ALL_OK = { status: 0, ok: ALL_STEPS };
const resultOf = ({ status, steps }: DoctorReport) => ({ status, ok: steps('ok') });

/** This step has failed, all before it have passed, and none after it is reported. */
const expectFailure = (
  { status, text, steps }: DoctorReport,
  step: string,
  ...said: (RegExp | string)[]
): void => {
  expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: [step] });
  expect(steps('ok|note')).toEqual(ALL_STEPS.slice(0, ALL_STEPS.indexOf(step)));
  for (const words of [/^ {6}next +\S/m, 'cannot serve a list', ...said])
    expect(text).toMatch(words);
  // That concerns a running service.
  expect(text).not.toMatch(/retries continue/i);
};

test('the built program writes the report to standard output, redacted, and its exit status is the result', async () => {
  const emulator = await emulate();
  const run = async (path: string): Promise<{ status: number | null; text: string }> => {
    const env = { PROVIDER_SANDBOX_BASE_URL: `${emulator.baseUrl}${path}` };
    const { exit, output } = runService(env, { programArgs: ['doctor'] });
    return { status: await exit, text: output() };
  };
  expect(await run('')).toEqual({
    status: 0,
    text: expect.stringContaining(`can serve a list: ${BANKS.length} banks`),
  });
  const misplaced = await run(`/${TOKEN}`);
  expect(misplaced).toEqual({
    status: 1,
    text: expect.stringContaining('/[redacted]/api/v1/banks'),
  });
  expect(misplaced.text).not.toContain(TOKEN);
});

describe('a provider that can be served', () => {
  test('passes every step by one call, with the fields, a ready BANK_FIELDS, and status 0', async () => {
    const emulator = await emulate();
    const { status, text, steps } = await diagnose(emulator);
    expect({ status, ok: steps('ok') }).toEqual(ALL_OK);
    expect(emulator.calls).toHaveLength(1);
    expect(text).toMatch(/^ {2}ispb +100\.0 % +text +published, no two entries alike$/m);
    expect(text).toMatch(/^ {2}website +60\.0 % +text$/m);
    expect(text).toMatch(
      /^ {2}BANK_FIELDS=code,ispb,name,fullName,document,type\?,\S+,website\?,updatedAt$/m,
    );
    expect(text).toContain(`can serve a list: ${BANKS.length} banks`);
  });

  test('passes with a token by client credentials, and with one from a file', async () => {
    const emulator = await emulate();
    const granted = await diagnose(emulator, clientCredentialsEnv(emulator));
    expect(resultOf(granted)).toEqual(ALL_OK);
    expect(granted.text).toContain('granted by the token endpoint');
    const file = { PROVIDER_ACCESS_TOKEN: '', PROVIDER_ACCESS_TOKEN_FILE: fileWith(`${TOKEN}\n`) };
    expect(resultOf(await diagnose(emulator, file))).toEqual(ALL_OK);
  });

  test('shows under which name a field is published, no name with other characters, and 60 at most', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`field${index}`, '']),
    );
    const emulator = await emulate({
      banks: [{ ispb: '1', 'x\u001b[31mred': 1, 'a,b': 2, ...many }],
    });
    const { status, text } = await diagnose(emulator, { BANK_FIELDS: 'id:ispb' });
    expect(status).toBe(0);
    expect(text).toMatch(/^ {2}ispb .* published as id, no two entries alike$/m);
    expect(text).not.toContain('\u001b');
    expect(text).toContain('field56 ');
    expect(text).toMatch(/^ {2}and 3 more$/m);
    expect(text).toMatch(/^ {2}BANK_FIELDS=id:ispb$/m);
  });

  test('calls a field an identifier only where every entry has a value of its own', async () => {
    const emulator = await emulate({
      banks: [
        { ispb: '1', code: 1, website: 'a', type: 'x', note: ' ' },
        { ispb: '2', code: '1', website: 'b', type: 'x', note: '' },
        { ispb: '3', code: 2, website: null, type: 'y' },
      ],
    });
    const { text } = await diagnose(emulator, { BANK_FIELDS: 'ispb' });
    expect(text).toContain(
      [
        '  field     filled  type',
        '  ispb     100.0 %  text         published, no two entries alike',
        '  code     100.0 %  number or text no two entries alike',
        '  website   66.6 %  text',
        '  type     100.0 %  text',
        '  note       0.0 %',
        '',
      ].join('\n'),
    );
  });

  test.each<[Behaviour, EnvironmentVariables, notes: string[], ...said: RegExp[]]>([
    ['retyped-field', {}, [], new RegExp(`${BANKS.length} can be served`)],
    ['thinned-field', {}, [], /^ {2}name +50\.0 % +text/m],
    ['paginated', {}, ['list'], /50 entries, the first page of more: .* a Link header/],
    ['slow', { PROVIDER_TIMEOUT: '3900ms' }, ['content'], /more than half of PROVIDER_TIMEOUT/],
    [
      'some-unusable',
      { BANK_FIELDS: 'code,nome?' },
      ['entries'],
      new RegExp(
        `${UNUSABLE} entries are not JSON objects: tell the provider; no entry has nome\\? .* \\(the provider sends name\\)`,
      ),
      // They say nothing about the fields of the others.
      /^ {2}ispb +100\.0 % /m,
    ],
  ])('while it does %s with %j gets these notes: %j', async (behaviour, env, notes, ...said) => {
    const emulator = await emulate();
    await emulator.behave(behaviour, { delayMs: 2_000 });
    const { status, text, steps } = await diagnose(emulator, env);
    expect({ status, notes: steps('note') }).toEqual({ status: 0, notes });
    for (const words of said) expect(text).toMatch(words);
  });
});

test.each([
  ['codigo,ispb,nome', ['code,ispb,name', 'codigo:code,ispb,nome:name']],
  ['CODE,ispb,nóme', ['code,ispb,name', 'CODE:code,ispb,nóme:name']],
  ['id:isbp,full_name', ['id:ispb,fullName', 'id:ispb,full_name:fullName']],
  ['code,unheard-of,website', ['code,website?']],
  // Each field of the provider is meant once.
  ['codigo,cod,ispb', ['code,ispb', 'codigo:code,ispb']],
  ['code,unheard-of,logo?', ['code,logo?']],
])(
  'a field that no entry has, as in BANK_FIELDS=%s, is a failure, with the right lines',
  async (fields, lines) => {
    const report = await diagnose(await emulate(), { BANK_FIELDS: fields });
    expectFailure(report, 'entries');
    expect([...report.text.matchAll(/^ {2}BANK_FIELDS=(.*)$/gm)].map(([, line]) => line)).toEqual(
      lines,
    );
  },
);

type Row = readonly [
  behaviour: Behaviour,
  step: string,
  likely: RegExp,
  env?: EnvironmentVariables,
];

test.each<Row>([
  ['refuse', 'address', /nothing listens at 127\.0\.0\.1:\d+/],
  ['reset', 'status', /closes the connection/],
  ['hang', 'status', /did not begin to respond/, { PROVIDER_TIMEOUT: '1s' }],
  ['stall', 'content', /began after \d+ ms and did not end/, { PROVIDER_TIMEOUT: '1s' }],
  ['cut-short', 'content', /ended in the middle/],
  ['bad-request', 'status', /does not accept the request/],
  ['unauthorized', 'status', /token is wrong, has expired/],
  [
    'healthy',
    'status',
    /token \(401\); check PROVIDER_ACCESS_TOKEN$[^]*get a new token for PROVIDER_ACCESS_TOKEN:/m,
    { PROVIDER_ACCESS_TOKEN: 'SECRET-but-wrong' },
  ],
  ['forbidden', 'status', /may not read the banks/],
  ['not-found', 'status', /no bank list at http:\S+\/api\/v1\/banks/],
  ['rate-limited', 'status', /too many requests[^]*next +wait some minutes and run this again/],
  ['server-error', 'status', /an internal failure/],
  ['redirect', 'status', /a redirect, which is never followed/],
  ['no-content', 'status', /sends no list/],
  ['html', 'content', /a web page/],
  ['not-json', 'content', /damaged, ends too early/],
  ['not-utf8', 'content', /another encoding than UTF-8/],
  ['too-deep', 'content', /nested too deeply/],
  ['too-large', 'content', /larger than PROVIDER_MAX_BODY/],
  [
    'envelope',
    'list',
    /in the member data$[^]*next +set BANK_LIST=data$[^]*^ {2}name +100[^]*^ {2}BANK_LIST=data$/m,
  ],
  [
    'nested-envelope',
    'list',
    /^ {2}ids\.ispb +100\.0 % [^]*^ {2}BANK_LIST=data$[^]*^ {2}BANK_FIELDS=code:ids.code,ispb:ids.ispb,name:fullName$/m,
  ],
  ['healthy', 'list', /next +unset BANK_LIST$[^]*^ {2}BANK_LIST=$/m, { BANK_LIST: 'data' }],
  ['deep-envelope', 'list', /next +set BANK_LIST=data.banks$/m, { BANK_LIST: 'data' }],
  [
    'nested',
    'entries',
    /^ {2}BANK_FIELDS=name:names.short,code:ids.code,ispb:ids.ispb$/m,
    { BANK_FIELDS: 'name:names,ids' },
  ],
  [
    'nested',
    'entries',
    /ids of BANK_FIELDS is an object, or a list of objects: it has ids.code, ids.ispb\n +next +set BANK_FIELDS to the fields inside/,
    { BANK_FIELDS: 'ids' },
  ],
  ['echo', 'entries', /PROVIDER_ACCESS_TOKEN[^]*next +tell the provider at once/],
  ['large-head', 'content', /the headers of the response have more than 16 KiB/],
  ['null', 'list', /another resource/],
  ['empty', 'entries', /shorter than GUARD_MIN_BANKS/],
  ['few', 'entries', /shorter than GUARD_MIN_BANKS/, { GUARD_MIN_BANKS: '100' }],
  [
    'most-unusable',
    'entries',
    /\d+ entries are not JSON objects: tell the provider\n +next +the list is accepted once/,
  ],
  // The fields may be wrong too.
  [
    'most-unusable',
    'entries',
    /next +set BANK_FIELDS and BANK_REQUIRED/,
    { BANK_FIELDS: 'code,nothing?' },
  ],
  ['duplicates', 'entries', /199 entries have the same published content as an earlier one/],
  [
    'renamed-field',
    'entries',
    /: name, perhaps bankName$[^]*^ {2}BANK_FIELDS=code,ispb,name:bankName$/m,
  ],
  ['healthy', 'entries', /\d+ entries .* alike, see the table below/s, { BANK_FIELDS: 'network' }],
])(
  'while the provider does %s, the step that fails is %s, with its likely cause',
  async (...row) => {
    const [behaviour, step, likely, env] = row;
    const emulator = await emulate();
    await emulator.behave(behaviour);
    expectFailure(await diagnose(emulator, env), step, likely);
  },
);

test.each([
  ['entries', Array.from({ length: 50_001 }, (_, code) => ({ code: String(code) }))],
  ['an entry', [{ code: 'a'.repeat(70_000) }]],
])('a list with too large %s is not helped by PROVIDER_MAX_BODY', async (_what, banks) => {
  // Time enough for a large list, on a busy machine.
  const env = { BANK_FIELDS: 'code', PROVIDER_TIMEOUT: '20s' };
  const report = await diagnose(await emulate({ banks }), env);
  expectFailure(report, 'content', 'more than 50,000 entries, an entry above 64 KiB');
  expect(report.text).not.toContain('raise PROVIDER_MAX_BODY');
});

test('an array in which nothing is filled counts as missing', async () => {
  const tags = [['spi'], [], [null, ' '], [['']]];
  const banks = tags.map((each, code) => ({ code: `${code}`, tags: each }));
  const { text } = await diagnose(await emulate({ banks }), { BANK_FIELDS: 'code,tags' });
  expect(text).toMatch(/^ {2}tags +25\.0 % +list/m);
});

test('of what is in an object that should be published, eight paths are named', async () => {
  const parts = Array.from({ length: 9 }, (_, index) => [`part${index}`, index]);
  // A name could write to the terminal.
  const banks = [{ code: '1', ids: { '\u001B[31m': 1, ...Object.fromEntries(parts) } }];
  const { text } = await diagnose(await emulate({ banks }), { BANK_FIELDS: 'code,ids' });
  expect(text).toMatch(/it has ids\.part0, .*ids\.part7$/m);
});

test.each([
  // Not the one that is published already.
  ['code,codes', 'BANK_FIELDS=code'],
  // An optional field stays optional, though every entry has it.
  ['code?,nmae', 'BANK_FIELDS=code?,name'],
])('with BANK_FIELDS=%s it suggests %s', async (fields, line) => {
  const banks = Array.from({ length: 51 }, (_, code) => ({ code: `${code}`, name: `B${code}` }));
  const { text } = await diagnose(await emulate({ banks }), { BANK_FIELDS: fields });
  expect(text.split('\n').map((each) => each.trim())).toContain(line);
  expect(text).not.toContain('codes:code');
});

test('entries with very many fields take no longer than a moment', async () => {
  const fields = Array.from({ length: 20_000 }, (_, index) => [`f${index}`, index % 2 || null]);
  const emulator = await emulate();
  emulator.respondWith((_req, res) => {
    const body = JSON.stringify([Object.fromEntries(fields), { ['f.f'.repeat(9_000)]: 1 }]);
    res.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  const startedAtMs = performance.now();
  const { text } = await diagnose(emulator, { BANK_FIELDS: 'f9,code' });
  expect(text).toMatch(/^ {2}and 19941 more$/m);
  expect(performance.now() - startedAtMs).toBeLessThan(10_000);
});

test('a list as long as a page is perhaps one', async () => {
  const report = await diagnose(await emulate({ banks: makeBanks(100) }));
  expect(report.linesOf('list')).toContain('100 entries, perhaps the first page of more');
});

test('a web page is recognised behind empty lines', async () => {
  const emulator = await emulate();
  emulator.respondWith((_req, res) =>
    res.setHeader('content-type', 'application/json').end('\r\n<!doctype html>'),
  );
  expectFailure(await diagnose(emulator), 'content', 'a web page');
});

test('entries without any published value are not counted as the same content', async () => {
  const banks = [...makeBanks(50), ...[1, 2, 3].map((other) => ({ other }))];
  const { text } = await diagnose(await emulate({ banks }));
  expect(text).toContain('50 can be served, 3 rejected');
  expect(text).not.toContain('the same published content');
});

describe('the token', () => {
  test('in a file that begins with Bearer is not sent', async () => {
    const emulator = await emulate();
    const env = {
      PROVIDER_ACCESS_TOKEN: '',
      PROVIDER_ACCESS_TOKEN_FILE: fileWith(`Bearer ${TOKEN}\n`),
    };
    expectFailure(
      await diagnose(emulator, env),
      'token',
      'begins with the word Bearer, which must not be there',
    );
    expect(emulator.listCalls()).toBe(0);
  });

  test.each<readonly [TokenBehaviour, EnvironmentVariables, RegExp]>([
    [
      'invalid-client',
      {},
      /the id or the secret is wrong.*; tried PROVIDER_TOKEN_AUTH=post: 401 invalid_client, /,
    ],
    // basic_plain cannot send it.
    [
      'invalid-client',
      { PROVIDER_CLIENT_ID: 'a:b' },
      /; tried PROVIDER_TOKEN_AUTH=post: 401 invalid_client, PROVIDER_TOKEN_AUTH=post PROVIDER_TOKEN_FORMAT=json: 401 invalid_client$/m,
    ],
    ['unknown-refusal', {}, /the id or the secret is wrong/],
    ['error-as-200', {}, /the id or the secret is wrong/],
    ['unsupported-grant', {}, /does not offer the client-credentials grant/],
    ['unauthorized-client', {}, /which may not use the client-credentials grant/],
    [
      'invalid-scope',
      {},
      /next +ask the provider for the scope, and set PROVIDER_TOKEN_SCOPE to it/,
    ],
    ['forbidden', {}, /or a firewall in front of it, does not let/],
    [
      'camel-case',
      {},
      /members are accessToken, expiresAt; set PROVIDER_TOKEN_FIELD[^]*something other than a Bearer token/m,
    ],
    ['not-found', {}, /not the address of an OAuth 2.0 token endpoint/],
    ['no-content', {}, /not the address of an OAuth 2.0 token endpoint/],
    ['server-error', {}, /FAIL +token +the token endpoint fails \(500\)/],
    ['hang', { PROVIDER_TIMEOUT: '1s' }, /did not begin to respond/],
    ['html', {}, /not the address of an OAuth 2.0 token endpoint/],
    ['redirect', {}, /not the address of an OAuth 2.0 token endpoint/],
    ['reset', {}, /closes the connection/],
    [
      'healthy',
      { PROVIDER_TOKEN_URL: 'http://127.0.0.1:9/oauth/token?key=canary' },
      /nothing listens at 127\.0\.0\.1:9\b[^]*check the port in PROVIDER_TOKEN_URL/,
    ],
  ])(
    'is not granted while its endpoint does %s with %j, and the provider gets no request',
    async (behaviour, env, likely) => {
      const emulator = await emulate();
      emulator.behaveToken(behaviour);
      const report = await diagnose(emulator, { ...clientCredentialsEnv(emulator), ...env });
      expectFailure(report, 'token', likely);
      expect(report.text).not.toContain('canary');
      expect(emulator.listCalls()).toBe(0);
    },
  );

  test.each<readonly [TokenBehaviour, EnvironmentVariables, line: string, requests: number]>([
    ['post-only', {}, 'PROVIDER_TOKEN_AUTH=post', 3],
    ['plain-basic', {}, 'PROVIDER_TOKEN_AUTH=basic_plain', 2],
    ['healthy', { PROVIDER_TOKEN_AUTH: 'post' }, 'PROVIDER_TOKEN_AUTH=basic', 2],
    ['healthy', { PROVIDER_TOKEN_AUTH: 'basic_plain' }, 'PROVIDER_TOKEN_AUTH=basic', 2],
    ['json-only', {}, 'PROVIDER_TOKEN_FORMAT=json', 2],
    ['json-or-415', {}, 'PROVIDER_TOKEN_FORMAT=json', 2],
    ['healthy', { PROVIDER_TOKEN_FORMAT: 'json' }, 'PROVIDER_TOKEN_FORMAT=form', 2],
    ['json-post-only', {}, 'PROVIDER_TOKEN_AUTH=post and PROVIDER_TOKEN_FORMAT=json', 4],
  ])(
    'whose endpoint does %s with %j is told from a wrong client: %s',
    async (behaviour, env, line, requests) => {
      const client = { clientId: 'a-client', clientSecret: 'a+secret:in%41Base64==' };
      const emulator = await emulate(client);
      emulator.behaveToken(behaviour);
      const report = await diagnose(emulator, {
        ...clientCredentialsEnv(emulator),
        PROVIDER_CLIENT_ID: client.clientId,
        PROVIDER_CLIENT_SECRET: client.clientSecret,
        ...env,
      });
      expect(report).toMatchObject({ status: 1 });
      expect(report.linesOf('token')).toContain(`set ${line}\n`.trim());
      expect(report.text).toContain(`With ${line}:\nok    token`);
      expect(report.text).toContain(`${BANKS.length} can be served`);
      expect(emulator.tokenCalls()).toBe(requests);
      const lines = Object.fromEntries(line.split(' and ').map((text) => text.split('=')));
      const corrected = {
        ...clientCredentialsEnv(emulator),
        PROVIDER_CLIENT_ID: client.clientId,
        ...env,
        ...lines,
      };
      expect(
        await diagnose(emulator, { ...corrected, PROVIDER_CLIENT_SECRET: client.clientSecret }),
      ).toMatchObject({
        status: 0,
      });
    },
  );

  test('that the endpoint grants and the list rejects suggests that the two do not belong together', async () => {
    const emulator = await emulate();
    emulator.behaveToken('rejected-token');
    const report = await diagnose(emulator, clientCredentialsEnv(emulator));
    expectFailure(report, 'status', 'the endpoint grants tokens that the list rejects');
  });
});

describe('the address', () => {
  test('with another scheme than the provider speaks points to the scheme', async () => {
    const { baseUrl } = await emulate();
    const speaksNoTls = await runDoctor({
      PROVIDER_SANDBOX_BASE_URL: baseUrl.replace('http:', 'https:'),
    });
    expectFailure(speaksNoTls, 'TLS', 'check the scheme and port');
    const front = await startTlsFront({ to: baseUrl, pair: createAuthority().issue('localhost') });
    closeLater(() => front.close());
    const speaksTls = await runDoctor({
      PROVIDER_SANDBOX_BASE_URL: front.url.replace('https:', 'http:'),
    });
    expectFailure(speaksTls, 'status', 'check the scheme and port');
  });

  test('with an unknown host fails before anything is sent', async () => {
    const report = await runDoctor({ PROVIDER_SANDBOX_BASE_URL: 'http://provider.invalid' });
    expectFailure(report, 'address', 'DNS knows no host provider.invalid, or does not answer');
  });

  test.each([
    ['50ms', 'PROVIDER_TIMEOUT, 50 ms, is too short to connect over a network'],
    ['1s', 'there is no route: a firewall'],
  ])('where nobody answers within %s fails', async (timeout, likely) => {
    const silent = createServer((socket) => closeLater(() => socket.destroy()));
    closeLater(() => silent.close());
    const port = await listenOn(silent);
    const env = {
      PROVIDER_SANDBOX_BASE_URL: `https://127.0.0.1:${port}`,
      PROVIDER_TIMEOUT: timeout,
    };
    expectFailure(await runDoctor(env), 'address', likely);
  });
});

test('an unusable configuration is reported whole, with status 1 and no value', async () => {
  const { status, text, steps } = await runDoctor({
    PORT: 'SECRET-1',
    PROVIDER_ACCESS_TOKEN: 'SECRET-2 with blank',
    CACHE_TTLL: '1',
  });
  expect(status).toBe(1);
  expect(steps('FAIL').length).toBeGreaterThanOrEqual(4);
  expect(text).toMatch(/^FAIL +configuration +CACHE_TTLL: is not a variable/m);
});

const entries = (count: number): unknown[] =>
  Array.from({ length: count }, (_, code) => ({ code }));
const NEXT_PAGE = 'the response has a Link header to a next page';
const OF_PAGES = { data: entries(50), total_pages: 11, hasMore: true };

test.each<[link: string | undefined, answer: unknown, sign: string | undefined]>([
  ['</api/v1/banks?page=2>; rel="next"', entries(7), NEXT_PAGE],
  ['<https://example.com/?a=1>; rel=next', entries(7), NEXT_PAGE],
  ['</1>; rel="prev", </3>; rel="next"', entries(7), NEXT_PAGE],
  ['</2>; title="x"; REL="last next"', entries(7), NEXT_PAGE],
  ['</next>; rel="prev"', entries(7), undefined],
  ['</x>; rel="nextsomething"', entries(7), undefined],
  ['</x>; rel=next;title=x', entries(7), NEXT_PAGE],
  ['</x>; rel="next-archive"', entries(7), undefined],
  ['</x>; rel=next-archive', entries(7), undefined],
  ['</x>; rel="https://example.com/rels/next"', entries(7), undefined],
  [undefined, entries(100), 'the list has exactly 100 entries, a usual size of a page'],
  [undefined, entries(513), undefined],
  [undefined, OF_PAGES, 'the response has members of pages: total_pages, hasMore'],
  [undefined, { data: entries(50) }, undefined],
])('Link: %s beside %j is this sign of pages: %j', (link, answer, sign) => {
  expect(signOfPages(link, answer)).toBe(sign);
});

test.each<[answer: unknown, paths: string[]]>([
  [{ data: [] }, ['data']],
  [{ a: { b: { c: [1] } } }, ['a.b.c']],
  // Deeper ones are not looked for.
  [{ a: { b: { c: { d: [1] } } } }, []],
  // Objects are more like banks than texts are, and more of them more so.
  [{ a: ['x', 'y', 'z'], b: [{}], c: { d: [{}, {}] } }, ['c.d', 'b', 'a']],
  [{ 'a,b': [{}] }, []],
  [[{}], []],
])('in %j the list may be at %j', (answer, paths) => {
  expect(findLists(answer)).toEqual(paths);
});

test.each([
  [1_023, '1023 bytes'],
  [1_024, '1.0 kB'],
  [1_048_575, '1024.0 kB'],
  [1_572_864, '1.5 MB'],
])('%d bytes are shown as %s', (bytes, shown) => {
  expect(formatBytes(bytes)).toBe(shown);
});
