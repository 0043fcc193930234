import { createHmac } from 'node:crypto';

// The secrets that a machine may have in files, and what these hold. Each has versions: the first
// one, the one after a rotation, and one that somebody has mistyped.

export const SECRET_NAMES = [
  'PROVIDER_ACCESS_TOKEN',
  'CACHE_SIGNING_KEY',
  'CACHE_REDIS_URL',
] as const;
export type SecretName = (typeof SECRET_NAMES)[number];

/** The first PROVIDER_ACCESS_TOKEN, and the first CACHE_REDIS_URL. */
export const TOKEN = 'a-simulated-token';
export const ADDRESS = 'redis://:password@redis.example';

export const VERSIONS = ['first', 'second', 'mistyped'] as const;
export type Version = (typeof VERSIONS)[number];

/** A version of a secret, of which this is the first. */
export const versionOf = (first: string, version: Version): string => {
  if (version === 'first') return first;
  return first.includes('@') ? first.replace('@', `-${version}@`) : `${first}-${version}`;
};

/** How a file is not usable. */
export const FLAWS = {
  missing: undefined,
  empty: '',
  'of two lines': 'this is no\nsecret',
};
export type Flaw = keyof typeof FLAWS;

export interface SecretFile {
  readonly first: string;
  version: Version;
  flaw: Flaw | undefined;
}
export type MachineFiles = ReadonlyMap<SecretName, SecretFile>;

export const newSecretFile = (first: string): SecretFile => ({
  first,
  version: 'first',
  flaw: undefined,
});

/** What is in a file; undefined: there is none. */
const contentOf = ({ first, version, flaw }: SecretFile): string | undefined =>
  flaw === undefined ? versionOf(first, version) : FLAWS[flaw];

/** The secret that a file holds; undefined: it is not usable. */
export const secretIn = (file: SecretFile): string | undefined =>
  file.flaw === undefined ? contentOf(file) : undefined;

const SIGNATURE_CHARS = 43;

/** Whether a saved list has the signature of a key: src/sharing/signing.ts. */
export const isSignedWith = (bytes: Buffer, key: string): boolean => {
  const end = bytes.length - SIGNATURE_CHARS - 1;
  const signature = createHmac('sha256', key)
    .update('banks-bff list\n')
    .update(bytes.subarray(0, Math.max(0, end)))
    .digest('base64url');
  return bytes.subarray(Math.max(0, end)).toString() === `${signature}\n`;
};
