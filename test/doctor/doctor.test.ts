import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { INTERNAL_DETAIL } from '../../emulator/answers.ts';
import type { Behaviour, TokenBehaviour } from '../../emulator/behaviours.ts';
import { startEmulator, type Emulator, type EmulatorOptions } from '../../emulator/emulator.ts';
import { runDoctor } from '../kit/run-doctor.ts';
import { CERTIFICATE, KEY } from '../kit/self-signed.ts';
import { clientCredentialsEnv } from '../kit/rig.ts';

// The doctor as a person runs it: the built program against the emulator, for each way in which an exchange can fail.
// Heavier than other tests: each of them starts a process.

type Env = Readonly<Record<string, string | undefined>>;

interface Result {
  readonly status: number;
  readonly text: string;
  /** The names of the steps of the exchange with this verdict, in their order. */
  readonly steps: (verdict: 'ok' | 'note' | 'FAIL') => string[];
}

const TOKEN = 'emulator-access-token';
const SECRETS = [TOKEN, 'emulator-secret', 'SECRET-', INTERNAL_DETAIL, 'Bearer ey', 'authorization'];

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Runs the doctor, and checks that it shows no secret, plain or in Base64. */
const doctor = async (env: Env): Promise<Result> => {
  const { status, text } = await runDoctor(env);
  for (const secret of SECRETS) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(Buffer.from(secret).toString('base64').slice(0, -2));
  }
  return {
    status: status ?? NaN,
    text,
    steps: (verdict) =>
      [...text.matchAll(new RegExp(`^${verdict} +(\\S+)`, 'gm'))]
        .map(([, name = '']) => name)
        .filter((name) => !SURROUNDINGS.includes(name)),
  };
};

const emulate = async (options?: EmulatorOptions): Promise<Emulator> => {
  const emulator = await startEmulator(options);
  closers.push(() => emulator.close());
  return emulator;
};

const fixedToken = ({ baseUrl }: Emulator): Env => ({
  PROVIDER_SANDBOX_BASE_URL: baseUrl,
  PROVIDER_ACCESS_TOKEN: TOKEN,
});

/** Steps that do not concern the exchange; see surroundings.test.ts. */
const SURROUNDINGS = ['clock', 'port', 'management'];

const ALL_STEPS = ['configuration', 'token', 'address', 'TLS', 'status', 'content', 'list', 'entries'];

describe('a provider that can be served', () => {
  test('passes every step by one call, with the fields, a ready BANK_FIELDS, and status 0', async () => {
    const emulator = await emulate();
    const { status, text, steps } = await doctor(fixedToken(emulator));
    expect({ status, ok: steps('ok') }).toEqual({ status: 0, ok: ALL_STEPS });
    expect(emulator.calls).toHaveLength(1);
    expect(text).toMatch(/^ {2}ispb +100\.0 % +text +published, no two entries alike$/m);
    expect(text).toMatch(/^ {2}website +23\.3 % +text$/m);
    expect(text).toMatch(
      /^ {2}BANK_FIELDS=code,ispb,name,fullName,document,type\?,\S+,website\?,updatedAt$/m,
    );
    expect(text).toContain('can serve a list: 513 banks');
  });

  test('passes with a token by client credentials, and with one from a file', async () => {
    const emulator = await emulate();
    const granted = await doctor({ ...fixedToken(emulator), ...clientCredentialsEnv(emulator) });
    expect({ status: granted.status, ok: granted.steps('ok') }).toEqual({ status: 0, ok: ALL_STEPS });
    expect(granted.text).toContain('granted by the token endpoint');

    const path = join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'token');
    writeFileSync(path, `${TOKEN}\n`);
    const read = await doctor({
      ...fixedToken(emulator),
      PROVIDER_ACCESS_TOKEN: '',
      PROVIDER_ACCESS_TOKEN_FILE: path,
    });
    expect({ status: read.status, ok: read.steps('ok') }).toEqual({ status: 0, ok: ALL_STEPS });
  });

  test('is noted where entries are rejected or an optional field does not exist', async () => {
    const emulator = await emulate();
    await emulator.behave('some-unusable');
    const { status, text, steps } = await doctor({ ...fixedToken(emulator), BANK_FIELDS: 'code,nome?' });
    expect({ status, note: steps('note') }).toEqual({ status: 0, note: ['entries'] });
    expect(text).toContain('26 entries are not JSON objects');
    // They say nothing about the fields of the others.
    expect(text).toMatch(/^ {2}ispb +100\.0 % /m);
    expect(text).toContain('no entry has nome? of BANK_FIELDS (the provider sends name)');
  });

  test('shows under which name a field is published, and no name with other characters', async () => {
    const emulator = await emulate({ banks: [{ ispb: '1', 'x\u001b[31mred': 1, 'a,b': 2, ok: '' }] });
    const { status, text } = await doctor({ ...fixedToken(emulator), BANK_FIELDS: 'id:ispb' });
    expect(status).toBe(0);
    expect(text).toMatch(/^ {2}ispb .* published as id, no two entries alike$/m);
    expect(text).not.toContain('\u001b');
    expect(text).toMatch(/^ {2}BANK_FIELDS=ispb$/m);
  });
});

test('fields in which the entries do not differ are a failure, with what to publish', async () => {
  const { status, text } = await doctor({ ...fixedToken(await emulate()), BANK_FIELDS: 'network' });
  expect(status).toBe(1);
  expect(text).toMatch(/\d+ entries have the same published content as an earlier one/);
  expect(text).toContain('publish a field in which no two entries are alike');
});

describe('a field of BANK_FIELDS that no entry has', () => {
  test.each([
    ['codigo,ispb,nome', ['code,ispb,name', 'codigo:code,ispb,nome:name']],
    ['CODE,ispb,nóme', ['code,ispb,name', 'CODE:code,ispb,nóme:name']],
    ['id:isbp,full_name', ['id:ispb,fullName', 'id:ispb,full_name:fullName']],
    ['code,unheard-of,website', ['code,website?']],
    ['code,unheard-of,logo?', ['code,logo?']],
  ])('as in %s is a failure, with the right lines', async (fields, lines) => {
    const emulator = await emulate();
    const { status, text, steps } = await doctor({ ...fixedToken(emulator), BANK_FIELDS: fields });
    expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: ['entries'] });
    expect([...text.matchAll(/^ {2}BANK_FIELDS=(.*)$/gm)].map(([, line]) => line)).toEqual(lines);
    expect(text).toContain('cannot serve a list');
  });

  test('after the provider has renamed it is named with its new name', async () => {
    const emulator = await emulate();
    await emulator.behave('renamed-field');
    const { status, text } = await doctor(fixedToken(emulator));
    expect(status).toBe(1);
    expect(text).toMatch(/^FAIL +entries .*: name, perhaps bankName$/m);
    expect(text).toMatch(/^ {2}BANK_FIELDS=code,ispb,name:bankName$/m);
  });
});

test('the same entry 200 times is a failure that says so', async () => {
  const emulator = await emulate();
  await emulator.behave('duplicates');
  const { status, text, steps } = await doctor(fixedToken(emulator));
  expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: ['entries'] });
  expect(text).toContain('199 entries have the same published content as an earlier one');
});

test.each<readonly [behaviour: Behaviour, notes: readonly string[], text: RegExp]>([
  ['retyped-field', [], /513 can be served/],
  ['thinned-field', [], /^ {2}name +49\.7 % +text/m],
  ['paginated', ['list'], /50 entries, perhaps the first page of more: the answer has a Link header/],
])('%s: every step passes, with these notes: %j', async (behaviour, notes, text) => {
  const emulator = await emulate();
  await emulator.behave(behaviour);
  const result = await doctor({ ...fixedToken(emulator), BANK_FIELDS: 'code,ispb,name' });
  expect({ status: result.status, notes: result.steps('note') }).toEqual({ status: 0, notes });
  expect(result.text).toMatch(text);
});

type Row = readonly [behaviour: Behaviour, step: string, likely: RegExp, env?: Env];

// All steps before the failing one must have passed, and none after it is reported.
test.each<Row>([
  ['refuse', 'address', /nothing listens on port \d+ of 127\.0\.0\.1/],
  ['reset', 'status', /closes the connection/],
  ['hang', 'status', /did not begin to answer/, { PROVIDER_TIMEOUT: '1s' }],
  ['stall', 'content', /began after \d+ ms and did not end/, { PROVIDER_TIMEOUT: '1s' }],
  ['cut-short', 'content', /ended in the middle/],
  ['bad-request', 'status', /does not accept the request/],
  ['unauthorized', 'status', /token is wrong, has expired/],
  ['forbidden', 'status', /may not read the banks/],
  ['not-found', 'status', /no bank list at http:\S+\/api\/v1\/banks/],
  ['rate-limited', 'status', /too many requests/],
  ['server-error', 'status', /an internal failure/],
  ['redirect', 'status', /a redirect, which is never followed/],
  ['no-content', 'status', /sends no list/],
  ['html', 'content', /a web page/],
  ['html-as-json', 'content', /a web page/],
  ['wrong-type', 'content', /Content-Type says otherwise/],
  ['not-json', 'content', /damaged, ends too early/],
  ['not-utf8', 'content', /another encoding than UTF-8/],
  ['too-deep', 'content', /nested too deeply/],
  ['too-large', 'content', /larger than PROVIDER_MAX_BODY/],
  ['gzip-bomb', 'content', /larger than PROVIDER_MAX_BODY/],
  ['envelope', 'list', /an envelope: the list is in the member data$/m],
  ['null', 'list', /another resource/],
  ['empty', 'entries', /shorter than GUARD_MIN_BANKS/],
  ['few', 'entries', /shorter than GUARD_MIN_BANKS/, { GUARD_MIN_BANKS: '100' }],
  ['most-unusable', 'entries', /\d+ entries are not JSON objects/],
])('while the provider does %s, the step that fails is %s, with its likely cause', async (...row) => {
  const [behaviour, step, likely, env] = row;
  const emulator = await emulate();
  await emulator.behave(behaviour);
  const { status, text, steps } = await doctor({ ...fixedToken(emulator), ...env });
  expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: [step] });
  expect(steps('ok')).toEqual(ALL_STEPS.slice(0, ALL_STEPS.indexOf(step)));
  expect(text).toMatch(likely);
  expect(text).toMatch(/^ {6}next +\S/m);
  expect(text).toContain('cannot serve a list');
});

describe('the token', () => {
  test('that is wrong is found by one command, which names the variable', async () => {
    const emulator = await emulate();
    const { status, text, steps } = await doctor({
      ...fixedToken(emulator),
      PROVIDER_ACCESS_TOKEN: 'SECRET-but-wrong',
    });
    expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: ['status'] });
    expect(text).toContain('the provider does not accept the token (401); check PROVIDER_ACCESS_TOKEN');
    expect(text).toContain('set PROVIDER_ACCESS_TOKEN to it');
  });

  test.each<readonly [TokenBehaviour, RegExp]>([
    ['invalid-client', /the id, the secret or the scope is wrong/],
    ['server-error', /token endpoint has an internal failure/],
    ['hang', /did not begin to answer/],
    ['html', /not the address of an OAuth 2.0 token endpoint/],
    ['redirect', /not the address of an OAuth 2.0 token endpoint/],
    ['reset', /closes the connection/],
  ])(
    'is not granted while its endpoint does %s, and the provider gets no request',
    async (behaviour, likely) => {
      const emulator = await emulate();
      emulator.behaveToken(behaviour);
      const { status, text, steps } = await doctor({
        ...fixedToken(emulator),
        ...clientCredentialsEnv(emulator),
        PROVIDER_TIMEOUT: '1s',
      });
      expect({ status, failed: steps('FAIL'), calls: emulator.listCalls() }).toEqual({
        status: 1,
        failed: ['token'],
        calls: 0,
      });
      expect(text).toMatch(likely);
    },
  );

  test('that the endpoint grants and the list rejects suggests that the two do not belong together', async () => {
    const emulator = await emulate();
    emulator.behaveToken('rejected-token');
    const { status, text, steps } = await doctor({
      ...fixedToken(emulator),
      ...clientCredentialsEnv(emulator),
    });
    expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: ['status'] });
    expect(text).toContain('the endpoint grants tokens that the list rejects');
  });

  test('that is rejected once: a second answer that breaks off is explained, not the first', async () => {
    const emulator = await emulate();
    emulator.respondWith((req, res) => {
      if (emulator.listCalls() === 1) res.writeHead(401).end();
      else res.writeHead(200, { 'content-length': 10 }).write('[', () => req.socket.destroy());
    });
    const { text, steps } = await doctor({ ...fixedToken(emulator), ...clientCredentialsEnv(emulator) });
    expect({ calls: emulator.listCalls(), failed: steps('FAIL') }).toEqual({ calls: 2, failed: ['content'] });
    expect(text).toContain('the connection ended in the middle of the answer');
  });

  test('file without a usable token is recognised', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'token');
    writeFileSync(path, 'SECRET- with blanks');
    const emulator = await emulate();
    const { status, steps } = await doctor({
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      PROVIDER_ACCESS_TOKEN_FILE: path,
    });
    expect({ status, failed: steps('FAIL'), calls: emulator.calls.length }).toEqual({
      status: 1,
      failed: ['token'],
      calls: 0,
    });
  });
});

describe('TLS', () => {
  const startTls = async (answer: RequestListener): Promise<number> => {
    const server = createServer({ key: KEY, cert: CERTIFICATE }, answer).listen(0);
    await once(server, 'listening');
    closers.push(() => server.close());
    const address = server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  };
  const sendList: RequestListener = (_req, res) =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end('[{"code":"001"}]');
  const trusting = (): Env => {
    const path = join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'ca.pem');
    writeFileSync(path, CERTIFICATE);
    return { PROVIDER_TLS_CA_FILE: path };
  };
  const at = (address: string): Env => ({
    PROVIDER_SANDBOX_BASE_URL: address,
    PROVIDER_ACCESS_TOKEN: TOKEN,
    BANK_FIELDS: 'code',
  });

  test('with a trusted certificate is passed, with its protocol and its days', async () => {
    const port = await startTls(sendList);
    const { status, text } = await doctor({ ...at(`https://localhost:${port}`), ...trusting() });
    expect(status).toBe(0);
    expect(text).toMatch(/^ok +TLS +TLSv1\.3, the certificate is valid for \d+ more days$/m);
  });

  test('with an unknown authority fails, and PROVIDER_TLS_CA_FILE is what to do', async () => {
    const port = await startTls(sendList);
    const { status, text, steps } = await doctor(at(`https://localhost:${port}`));
    expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: ['TLS'] });
    expect(text).toContain('set PROVIDER_TLS_CA_FILE');
  });

  test('with a certificate for another name fails', async () => {
    const port = await startTls(sendList);
    const { status, text, steps } = await doctor({ ...at(`https://127.0.0.1:${port}`), ...trusting() });
    expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: ['TLS'] });
    expect(text).toContain('for another name than 127.0.0.1');
  });

  test('where the server speaks none, or plain HTTP where it does, points to the scheme', async () => {
    const emulator = await emulate();
    const wantsNone = await doctor(at(emulator.baseUrl.replace('http:', 'https:')));
    expect({ status: wantsNone.status, failed: wantsNone.steps('FAIL') }).toEqual({
      status: 1,
      failed: ['TLS'],
    });
    const wantsIt = await doctor(at(`http://localhost:${await startTls(sendList)}`));
    expect({ status: wantsIt.status, failed: wantsIt.steps('FAIL') }).toEqual({
      status: 1,
      failed: ['status'],
    });
    for (const { text } of [wantsNone, wantsIt]) expect(text).toContain('check the scheme and port');
  });
});

describe('the address', () => {
  test('with an unknown host fails before anything is sent', async () => {
    const { status, text, steps } = await doctor({
      PROVIDER_SANDBOX_BASE_URL: 'http://provider.invalid',
      PROVIDER_ACCESS_TOKEN: TOKEN,
    });
    expect({ status, failed: steps('FAIL') }).toEqual({ status: 1, failed: ['address'] });
    expect(text).toMatch(/DNS knows no host provider\.invalid|DNS server does not answer/);
  });

  test('that already contains a part of the path is recognised', async () => {
    const emulator = await emulate();
    const { text } = await doctor({
      ...fixedToken(emulator),
      PROVIDER_SANDBOX_BASE_URL: `${emulator.baseUrl}/api/v1`,
    });
    expect(text).toContain('contains a part of the path that is added to it: /api/v1/banks');
  });
});

describe('what used to be explained wrongly:', () => {
  test('a base address with another version has no part of the path given twice', async () => {
    const emulator = await emulate();
    const { text } = await doctor({
      ...fixedToken(emulator),
      PROVIDER_SANDBOX_BASE_URL: `${emulator.baseUrl}/v2`,
    });
    expect(text).not.toContain('contains a part of the path');
    expect(text).toMatch(/there is no bank list at http:\S+\/v2\/api\/v1\/banks/);
  });

  test('a time-out that no network can meet is not a firewall', async () => {
    const { text } = await doctor({
      // Reserved for documentation (RFC 5737): nobody answers.
      PROVIDER_SANDBOX_BASE_URL: 'http://192.0.2.1',
      PROVIDER_ACCESS_TOKEN: TOKEN,
      PROVIDER_TIMEOUT: '50ms',
    });
    expect(text).not.toContain('firewall silently drops');
    expect(text).toMatch(/PROVIDER_TIMEOUT, 50 ms, is too short|there is no route/);
  });

  test('of a token file that begins with Bearer it is said before the provider is asked', async () => {
    const emulator = await emulate();
    const path = join(mkdtempSync(join(tmpdir(), 'banks-bff-')), 'token');
    writeFileSync(path, `Bearer ${TOKEN}\n`);
    const { text, steps } = await doctor({
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      PROVIDER_ACCESS_TOKEN_FILE: path,
    });
    expect({ failed: steps('FAIL'), calls: emulator.listCalls() }).toEqual({ failed: ['token'], calls: 0 });
    expect(text).toContain('or begins with the word Bearer');
  });

  test.each([
    ['entries', Array.from({ length: 50_001 }, (_, code) => ({ code: String(code) }))],
    ['an entry', [{ code: 'a'.repeat(70_000) }]],
  ])('a list with too large %s is not helped by PROVIDER_MAX_BODY', async (_what, banks) => {
    const emulator = await emulate({ banks });
    const { text, steps } = await doctor({ ...fixedToken(emulator), BANK_FIELDS: 'code' });
    expect(steps('FAIL')).toEqual(['content']);
    expect(text).not.toContain('raise PROVIDER_MAX_BODY');
    expect(text).toContain('more than 50,000 entries, an entry above 64 KiB');
  });
});

test('an unusable configuration is reported whole, with status 1 and no value', async () => {
  const { status, text, steps } = await doctor({
    PORT: 'SECRET-1',
    PROVIDER_ACCESS_TOKEN: 'SECRET-2 with blank',
    CACHE_TTLL: '1',
  });
  expect(status).toBe(1);
  expect(steps('FAIL').length).toBeGreaterThanOrEqual(4);
  expect(text).toMatch(/^FAIL +configuration +CACHE_TTLL: is not a variable/m);
});
