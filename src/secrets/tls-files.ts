import { X509Certificate } from 'node:crypto';
import * as tls from 'node:tls';
import { describeReadError, describeUnreadable, readRegularFile } from '../regular-file.ts';

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
  /** The Base64 of the private key. */
  readonly key: string | undefined;
  /** TLS 1.2 or newer with these files. */
  readonly context: tls.SecureContext;
}

/** What is wrong with the file of `variable`, and what would be right. */
export interface FileProblem {
  readonly variable: string;
  readonly text: string;
}

/** Files that are used together: `value` is their content; undefined if it cannot be used. */
export interface Reading<T> {
  readonly value?: T | undefined;
  readonly problems: readonly FileProblem[];
}

/** Far more than a bundle of all public authorities takes. */
const MAX_PEM_BYTES = 1_048_576;

/** @param last is returned again for unchanged files: making a context takes 30 ms */
export const readTlsFiles = async (
  files: TlsFiles,
  nowMs: number,
  last?: TlsSet,
): Promise<Reading<TlsSet>> => {
  const problems: FileProblem[] = [];
  const read = async (variable: TlsVariable): Promise<string | undefined> => {
    const path = files[variable];
    if (!path) return undefined;
    try {
      // Comments may be in any encoding. A byte order mark at the beginning is dropped.
      const pem = new TextDecoder().decode(await readRegularFile(path, MAX_PEM_BYTES));
      const text = PROBLEM_OF[variable](pem, nowMs);
      if (text !== undefined) problems.push({ variable, text });
      return pem;
    } catch (error) {
      problems.push({ variable, text: describeUnreadable(error, MAX_PEM_BYTES) });
      return undefined;
    }
  };
  const [ca, cert, key] = await Promise.all(TLS_VARIABLES.map(read));
  if (problems.length > 0) return { problems };
  const pems = [ca, cert, key].join('\n');
  if (pems === last?.pems) return { value: last, problems };
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
    return { value: { pems, key: PRIVATE_KEY.exec(key ?? '')?.[1]?.trim(), context }, problems };
  } catch (error) {
    const text =
      `does not fit PROVIDER_TLS_CERT_FILE (${describeReadError(error)}); both must be complete and ` +
      'belong together, the key without a passphrase (openssl pkey -in KEY -out NEW removes one), ' +
      'and RSA keys of 2048 bits or more';
    return { problems: [{ variable: 'PROVIDER_TLS_KEY_FILE', text }] };
  }
};

/** OpenSSL stops at a damaged authority, and trusts none after it, without an error. */
const authoritiesProblem = (pem: string): string | undefined => {
  const linesIn = (text: string): number => text.match(CERTIFICATE_LINES)?.length ?? 0;
  const blocks = pem.split(AFTER_CERTIFICATE).filter((text) => linesIn(text) > 0);
  if (blocks.length === 0) return NO_CERTIFICATE;
  return blocks.every((block) => linesIn(block) === 2 && parseCertificate(block))
    ? undefined
    : 'contains a damaged certificate; replace or remove it: neither it nor any after it would be trusted';
};

const CERTIFICATE_LINES = /^-----(?:BEGIN|END) [A-Z\d ]*CERTIFICATE-----/gm;
const AFTER_CERTIFICATE = /(?<=^-----END [A-Z\d ]*CERTIFICATE-----)/m;

/** Of the first certificate: it is the client's own. */
const certificateProblem = (pem: string, nowMs: number): string | undefined => {
  const certificate = parseCertificate(pem);
  if (!certificate) return NO_CERTIFICATE;
  const { validFrom, validTo } = certificate;
  return Date.parse(validFrom) <= nowMs && nowMs < Date.parse(validTo)
    ? undefined
    : `is valid only from ${validFrom} to ${validTo}; get the current one from its issuer, or check this machine's clock`;
};

const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----((?:(?!-----)[^])+)-----END/;

/** What is wrong with each file by itself. */
const PROBLEM_OF: Readonly<
  Record<TlsVariable, (pem: string, nowMs: number) => string | undefined>
> = {
  PROVIDER_TLS_CA_FILE: authoritiesProblem,
  PROVIDER_TLS_CERT_FILE: certificateProblem,
  PROVIDER_TLS_KEY_FILE: (pem) => (PRIVATE_KEY.test(pem) ? undefined : NO_KEY),
};

const NO_CERTIFICATE =
  'contains no certificate in PEM; it needs one or more "BEGIN CERTIFICATE" blocks (of a .p12 file: openssl pkcs12 -in FILE -nokeys)';
const NO_KEY =
  'contains no private key in PEM; it needs a "BEGIN PRIVATE KEY" block (of a .p12 file: openssl pkcs12 -in FILE -nocerts -nodes)';

const parseCertificate = (pem: string): X509Certificate | undefined => {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
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
