import { createPrivateKey, X509Certificate } from 'node:crypto';
import * as tls from 'node:tls';
import { codeOf } from '../error-code.ts';
import { describeUnreadable, readRegularFile } from '../regular-file.ts';

// The files of mutual TLS and of private authorities, all in PEM. They are read as one set, because
// they must fit each other: in the middle of a rotation they do not.

export const TLS_VARIABLES = [
  'PROVIDER_TLS_CA_FILE',
  'PROVIDER_TLS_CERT_FILE',
  'PROVIDER_TLS_KEY_FILE',
] as const;
type TlsVariable = (typeof TLS_VARIABLES)[number];

/** The paths, by their variables; a certificate and its key are both set or both unset. */
export type TlsFiles = Readonly<Partial<Record<TlsVariable, string | undefined>>>;

export interface TlsSet {
  /** The content of all files, to tell a changed set. */
  readonly pems: string;
  /** The Base64 of the private key; empty if there is none. */
  readonly key: string;
  /** TLS 1.2 or newer with these files. */
  readonly context: tls.SecureContext;
}

/** Files that are used together: their content, or what is wrong with some, by their variables. */
export interface Reading<T> {
  readonly value?: T;
  readonly problems?: ReadonlyMap<string, string>;
}

/** Far more than a bundle of all public authorities takes. */
const MAX_PEM_BYTES = 1_048_576;

/** @param last is returned again for unchanged files: making a context takes 30 ms */
export const readTlsFiles = async (files: TlsFiles, last?: TlsSet): Promise<Reading<TlsSet>> => {
  const problems = new Map<TlsVariable, string>();
  const read = async (variable: TlsVariable): Promise<string | undefined> => {
    const path = files[variable];
    if (!path) return undefined;
    try {
      // Comments may be in any encoding. A byte order mark at the beginning is dropped.
      const pem = new TextDecoder().decode(await readRegularFile(path, MAX_PEM_BYTES));
      if (!isUsable(variable, pem)) problems.set(variable, NEEDS[variable]);
      return pem;
    } catch (error) {
      problems.set(variable, describeUnreadable(error, MAX_PEM_BYTES));
      return undefined;
    }
  };
  const [ca, cert, key] = await Promise.all(TLS_VARIABLES.map(read));
  if (problems.size > 0) return { problems };
  const pems = [ca, cert, key].join('\n');
  if (pems === last?.pems) return { value: last };
  try {
    const context = tls.createSecureContext({
      minVersion: 'TLSv1.2',
      ...(ca !== undefined && {
        ca: [...defaultAuthorities(), ca],
        // The operator may name an intermediate authority, or the server's certificate, alone.
        allowPartialTrustChain: true,
      }),
      ...(cert !== undefined && { cert, key }),
    });
    return { value: { pems, key: key?.replaceAll(/-----[^-]+-----/g, '').trim() ?? '', context } };
  } catch (error) {
    const problem = `does not fit PROVIDER_TLS_CERT_FILE (${codeOf(error)}); both must belong together, and RSA keys have 2048 bits or more`;
    return { problems: problems.set('PROVIDER_TLS_KEY_FILE', problem) };
  }
};

/** Whether a file can be used by itself. */
const isUsable = (variable: TlsVariable, pem: string): boolean => {
  try {
    if (variable === 'PROVIDER_TLS_KEY_FILE') return createPrivateKey(pem).type === 'private';
    // OpenSSL stops at a damaged authority, and trusts none after it, without an error.
    const certificates = pem.match(CERTIFICATES) ?? [];
    return certificates.map((each) => new X509Certificate(each)).length > 0;
  } catch {
    return false;
  }
};

const CERTIFICATES = /-----BEGIN [A-Z ]*CERTIFICATE-----[^]*?-----END [A-Z ]*CERTIFICATE-----/g;

const NEEDS_CERTIFICATES =
  'contains no certificate in PEM, or a damaged one; it needs one or more "BEGIN CERTIFICATE" blocks (of a .p12 file: openssl pkcs12 -in FILE -nokeys)';
const NEEDS: Readonly<Record<TlsVariable, string>> = {
  PROVIDER_TLS_CA_FILE: NEEDS_CERTIFICATES,
  PROVIDER_TLS_CERT_FILE: NEEDS_CERTIFICATES,
  PROVIDER_TLS_KEY_FILE:
    'contains no private key in PEM without a passphrase; it needs a "BEGIN PRIVATE KEY" block (of a .p12 file: openssl pkcs12 -in FILE -nocerts -nodes; openssl pkey -in KEY -out NEW removes a passphrase)',
};

/**
 * `ca` replaces Node's own authorities, so they are added to it. Node 22.15 and newer include
 * NODE_EXTRA_CA_CERTS.
 */
const defaultAuthorities = (): readonly string[] => {
  const { rootCertificates, getCACertificates }: NewerTls = tls;
  return getCACertificates?.('default') ?? rootCertificates;
};

type NewerTls = Pick<typeof tls, 'rootCertificates'> & {
  readonly getCACertificates?: (type: 'default') => string[];
};
