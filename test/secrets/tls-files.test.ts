import { expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTlsFiles, type TlsFiles } from '../../src/secrets/tls-files.ts';
import { createAuthority, encryptedKey, EXPIRED, type Pair } from '../helpers/authority.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

// What is said about files of mutual TLS that cannot be used. What happens meanwhile:
// secret-files.test.ts.

const NOW_MS = Date.UTC(2026, 6, 1);
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
const FILES: TlsFiles = { [CA]: authority.certFile, ...pairOf(pair) };

const problemsOf = async (files: TlsFiles): Promise<string[]> =>
  (await readTlsFiles({ ...FILES, ...files }, NOW_MS)).problems.map(
    ({ variable, text }) => `${variable} ${text}`,
  );

test('no files, or files that fit each other, have no problem', async () => {
  expect(await problemsOf({ [CA]: undefined, [CERT]: undefined, [KEY]: undefined })).toEqual([]);
  expect(await problemsOf({})).toEqual([]);
  const chain = file('chain', pair.cert + authority.cert);
  expect(await problemsOf({ [CERT]: chain, [KEY]: file('marked', `\uFEFF${pair.key}`) })).toEqual(
    [],
  );
});

const commentedOut = pair.cert.replaceAll(/^(?=.)/gm, '# ');

test.each([
  ['text around its certificates', `A\n${authority.cert}\nB\n${pair.cert}C\n`],
  ['a certificate in a comment', commentedOut + authority.cert + commentedOut],
  ['a key among its certificates', authority.cert + pair.key + pair.cert],
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
])('a bundle in which a certificate has %s is a problem', async (_what, damaged) => {
  for (const rest of [pair.cert, '']) {
    const files = { [CA]: file('damaged', authority.cert + damaged + rest) };
    expect(await problemsOf(files)).toEqual([
      expect.stringContaining(`${CA} contains a damaged certificate`),
    ]);
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
    pairOf(authority.issue('expired', EXPIRED)),
    `${CERT} is valid only from Jan  1 00:00:00 2020 GMT to Jan  1 00:00:00 2021 GMT; get the current`,
  ],
  ['an encrypted key', { [KEY]: encryptedKey(pair) }, 'without a passphrase (openssl pkey'],
  [
    'the key of another',
    { [KEY]: other.keyFile },
    `${KEY} does not fit ${CERT} (ERR_OSSL_X509_KEY_VALUES_MISMATCH);`,
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
  expect(
    await problemsOf({ [CERT]: other.keyFile, [CA]: '/nowhere', [KEY]: '/nowhere' }),
  ).toHaveLength(3);
});
