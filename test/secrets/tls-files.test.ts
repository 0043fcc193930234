import { describe, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wall, type WallMs } from '../../src/clock.ts';
import { createRedaction } from '../../src/secrets/redaction.ts';
import {
  checkTlsFiles,
  createTlsContextSource,
  type TlsFiles,
} from '../../src/secrets/tls-files.ts';
import { createAuthority, encryptedKey, EXPIRED, type Pair } from '../helpers/authority.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { createTestSecrets } from '../helpers/secret-files.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// The files of mutual TLS: what is said about those that cannot be used, and what is done while
// they cannot.

const NOW_MS = wall(Date.UTC(2026, 6, 1));
const authority = createAuthority();
const pair = authority.issue('the service');
const other = authority.issue('another');
const folder = temporaryFolder();
const file = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const CA = 'PROVIDER_TLS_CA_FILE';
const CERT = 'PROVIDER_TLS_CERT_FILE';
const KEY = 'PROVIDER_TLS_KEY_FILE';
const pairOf = ({ certFile, keyFile }: Pick<Pair, 'certFile' | 'keyFile'>): TlsFiles => ({
  [CERT]: certFile,
  [KEY]: keyFile,
});
const expired = pairOf(authority.issue('expired', EXPIRED));
const future = pairOf(
  authority.issue('future', { from: '20300101000000Z', until: '20310101000000Z' }),
);
const FILES: TlsFiles = { [CA]: authority.certFile, ...pairOf(pair) };

const problemsOf = async (files: TlsFiles): Promise<string[]> =>
  (await checkTlsFiles({ ...FILES, ...files }, NOW_MS)).map(
    ({ variable, text }) => `${variable} ${text}`,
  );

test('a pair and an authority that are fine have no problem, nor have no files', async () => {
  expect(await problemsOf({})).toEqual([]);
  expect(await problemsOf({ [CA]: undefined, [CERT]: undefined, [KEY]: undefined })).toEqual([]);
  expect(await problemsOf({ [CERT]: file('chain', pair.cert + authority.cert) })).toEqual([]);
});

test.each([
  [CA, authority.cert],
  [CERT, pair.cert],
  [KEY, pair.key],
])('%s may begin with a byte order mark', async (variable, pem) => {
  expect(await problemsOf({ [variable]: file(`marked-${variable}`, `\uFEFF${pem}`) })).toEqual([]);
});

const commentedOut = pair.cert.replaceAll(/^(?=.)/gm, '# ');

test.each([
  ['text around its certificates', `A\n${authority.cert}\nB\n${pair.cert}C\n`],
  ['a certificate in a comment', commentedOut + authority.cert + commentedOut],
  ['other names for a certificate', authority.cert.replaceAll(' CERT', ' X509 CERT') + pair.cert],
  ['a key among its certificates', authority.cert + pair.key + pair.cert],
  ['a byte order mark in the middle', `${authority.cert}\uFEFF${pair.cert}`],
  ['the line breaks of Windows', (authority.cert + pair.cert).replaceAll('\n', '\r\n')],
])('a bundle with %s has no problem', async (_what, bundle) => {
  expect(await problemsOf({ [CA]: file('bundle', bundle) })).toEqual([]);
});

const otherLines = other.cert.split('\n');

test.each([
  ['a character that is not Base64', other.cert.replace('M', '!')],
  ['a missing line', otherLines.toSpliced(2, 1).join('\n')],
  ['no first line', otherLines.slice(1).join('\n')],
  ['no last line', otherLines.slice(0, -2).join('\n') + '\n'],
  ['lines that are indented', other.cert.replaceAll(/^/gm, '  ')],
])('a bundle in which a certificate has %s is a problem', async (_what, damaged) => {
  const problem = `${CA} contains a damaged certificate (number 2 of`;
  for (const rest of [pair.cert, '']) {
    const files = { [CA]: file('damaged', authority.cert + damaged + rest) };
    expect(await problemsOf(files)).toEqual([expect.stringContaining(problem)]);
  }
});

test.each<[string, TlsFiles, problem: string]>([
  ['a missing file', { [CA]: '/nowhere' }, `${CA} cannot be read (ENOENT); name a regular file`],
  [
    'too large a file',
    { [CERT]: file('large', 'x'.repeat(1_048_577)) },
    `${CERT} cannot be read (more`,
  ],
  [
    'no authority',
    { [CA]: file('no-ca', 'nothing') },
    `${CA} contains no certificate in PEM; it needs`,
  ],
  ['no key', { [KEY]: pair.certFile }, `${KEY} contains no private key in PEM; it needs`],
  ['no certificate', { [CERT]: pair.keyFile }, `${CERT} contains no certificate in PEM; it needs`],
  [
    'an expired certificate',
    expired,
    `${CERT} is valid only from 2020-01-01 to 2021-01-01; get the current one`,
  ],
  [
    'a certificate for later',
    future,
    'to 2031-01-01; get the current one from its issuer, or check this',
  ],
  ['an encrypted key', { [KEY]: encryptedKey(pair) }, 'without a passphrase (openssl pkey'],
  [
    'a key encrypted in the form of its algorithm',
    { [KEY]: encryptedKey(pair, 'ec') },
    'without a passphrase (openssl pkey',
  ],
  [
    'the key of another',
    { [KEY]: other.keyFile },
    `${KEY} does not match ${CERT} (ERR_OSSL_X509_KEY_VALUES_MISMATCH);`,
  ],
])(
  '%s is a problem that names its variable, its cause and the way out',
  async (_what, files, problem) => {
    const problems = await problemsOf(files);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems.join()).not.toMatch(/canary-passphrase|MIG|MII|BEGIN EC/);
  },
);

test('all problems are told at once', async () => {
  expect(await problemsOf({ ...expired, [CA]: '/nowhere', [KEY]: '/nowhere' })).toHaveLength(3);
});

describe('while the service runs', () => {
  const secrets = createTestSecrets(createManualClock());
  const options = { secrets, clock: { wallMs: () => NOW_MS } };

  test('files that have never been usable are an error, and are found once they are', async () => {
    const cert = join(folder, 'late.pem');
    const source = createTlsContextSource(
      pairOf({ certFile: cert, keyFile: pair.keyFile }),
      options,
    );
    await expect(source.current()).rejects.toThrow(
      /^PROVIDER_TLS_CERT_FILE cannot be read \(ENOENT\)/,
    );
    writeFileSync(cert, pair.cert);
    await expect(source.current()).resolves.toBeDefined();
  });

  test('a rotation that is half done is read again before it is reported', async () => {
    const cert = file('rotated.pem', pair.cert);
    const key = file('rotated.key', pair.key);
    let reads = 0;
    const wallMs = (): WallMs => {
      reads += 1;
      if (reads === 3) file('rotated.key', other.key);
      return NOW_MS;
    };
    const source = createTlsContextSource(pairOf({ certFile: cert, keyFile: key }), {
      ...options,
      clock: { wallMs },
    });
    const before = await source.current();
    file('rotated.pem', other.cert);
    expect(await source.current()).not.toBe(before);
    expect(reads).toBe(3);
    expect(source.problem()).toBeUndefined();
  });

  test('the key is a secret in each form in which it could be written', async () => {
    const { addSecret, redact } = createRedaction();
    const watched = createTestSecrets(createManualClock(), addSecret);
    await createTlsContextSource(FILES, { ...options, secrets: watched }).current();
    const lines = pair.key.trim().split('\n').slice(1, -1);
    const forms = [
      pair.key,
      JSON.stringify({ key: pair.key }),
      lines.join(''),
      Buffer.from(pair.key).toString('base64'),
      Buffer.from(lines.join(''), 'base64').toString('base64url'),
    ];
    for (const form of forms) {
      const redacted = redact(`a key: ${form}.`);
      expect(redacted).toContain('[redacted]');
      for (const line of lines.slice(0, -1)) expect(redacted).not.toContain(line.slice(0, 40));
    }
  });

  test('the key that a rotation brings is a secret as well', async () => {
    const { addSecret, redact } = createRedaction();
    const files = { certFile: file('next.pem', pair.cert), keyFile: file('next.key', pair.key) };
    const watched = createTestSecrets(createManualClock(), addSecret);
    const source = createTlsContextSource(pairOf(files), { ...options, secrets: watched });
    await source.current();
    file('next.pem', other.cert);
    file('next.key', other.key);
    await source.current();
    for (const key of [pair.key, other.key])
      expect(redact(key.replaceAll('\n', ''))).toMatch(/^-+BEGIN [A-Z ]+-+\[redacted\]-+END/);
  });
});
