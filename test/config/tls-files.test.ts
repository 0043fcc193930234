import { expect, test } from '@jest/globals';
import { checkConfig } from '../../src/config/environment.ts';
import { createAuthority, encryptedKey } from '../helpers/authority.ts';
import { SANDBOX } from '../helpers/sandbox.ts';
import { temporaryFile } from '../helpers/temporary-folder.ts';

// What is said about files of mutual TLS that cannot be used. What happens meanwhile, and a key that
// does not fit: test/secrets.

const authority = createAuthority();
const pair = authority.issue('the service');
const other = authority.issue('another');
const CA = 'PROVIDER_TLS_CA_FILE';
const CERT = 'PROVIDER_TLS_CERT_FILE';
const KEY = 'PROVIDER_TLS_KEY_FILE';
type TlsFiles = Readonly<Record<string, string>>;
const FILES: TlsFiles = { [CA]: authority.certFile, [CERT]: pair.certFile, [KEY]: pair.keyFile };

const problemsOf = async (files: TlsFiles): Promise<string[]> => {
  const { error } = await checkConfig({
    ...SANDBOX,
    PROVIDER_SANDBOX_BASE_URL: 'http://a',
    ...FILES,
    ...files,
  });
  return (error?.problems ?? []).map(({ variable, problem }) => `${variable} ${problem}`);
};

test.each<[string, TlsFiles]>([
  ['a chain', { [CERT]: temporaryFile(pair.cert + authority.cert) }],
  ['a byte order mark', { [KEY]: temporaryFile(`\uFEFF${pair.key}`) }],
  ['text around certificates', { [CA]: temporaryFile(`A\n${authority.cert}\nB\n${pair.cert}C\n`) }],
  ['a key among certificates', { [CA]: temporaryFile(authority.cert + pair.key + pair.cert) }],
  ['line breaks of Windows', { [CA]: temporaryFile(authority.cert.replaceAll('\n', '\r\n')) }],
])('%s: no problem', async (_what, files) => {
  expect(await problemsOf(files)).toEqual([]);
});

const damaged = other.cert.split('\n').toSpliced(2, 1).join('\n');

test.each<[string, TlsFiles, problem: string]>([
  [
    'a damaged authority among others',
    { [CA]: temporaryFile(authority.cert + damaged + pair.cert) },
    `${CA} contains no certificate in PEM, or a damaged one; it needs`,
  ],
  ['no authority', { [CA]: temporaryFile('nothing') }, `${CA} contains no certificate in PEM`],
  ['no key', { [KEY]: pair.certFile }, `${KEY} contains no private key in PEM`],
  ['an encrypted key', { [KEY]: encryptedKey(pair) }, `${KEY} contains no private key in PEM`],
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
