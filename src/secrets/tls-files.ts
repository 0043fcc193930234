import { X509Certificate } from 'node:crypto';
import * as tls from 'node:tls';
import type { Clock } from '../clock.ts';
import {
  describeReadError,
  describeUnreadable,
  readRegularFile,
  type ReadLimits,
} from '../regular-file.ts';
import type { SecretFiles } from './secret-files.ts';
import type { FileProblem, Reading } from './watched-files.ts';

// The files of mutual TLS and private authorities: client certificate, private key, extra
// authorities, all in PEM. They are checked at the start and read again for each connection, so
// that they can be rotated.

const TLS_VARIABLES = [
  'PROVIDER_TLS_CA_FILE',
  'PROVIDER_TLS_CERT_FILE',
  'PROVIDER_TLS_KEY_FILE',
] as const;
type TlsVariable = (typeof TLS_VARIABLES)[number];

/** The paths, by their variables; a certificate and its key are both set or both unset. */
export type TlsFiles = Readonly<Partial<Record<TlsVariable, string | undefined>>>;

export type TlsContextSource = ReturnType<typeof createTlsContextSource>;

export interface TlsContextOptions {
  readonly secrets: Pick<SecretFiles, 'add' | 'addSecret' | 'unusable'>;
  /** The dates of certificates are checked against it. */
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Far more than a bundle of all public authorities takes. */
const MAX_PEM_BYTES = 1_048_576;

/** All problems of the files; none if they are usable. For the checks at the start. */
export const checkTlsFiles = async (
  files: TlsFiles,
  nowMs: number,
): Promise<readonly FileProblem[]> => (await readTlsFiles(files, nowMs)).problems;

export const createTlsContextSource = (files: TlsFiles, options: TlsContextOptions) => {
  const { secrets, clock } = options;
  const read = async (limits: ReadLimits, last?: Usable): Promise<Reading<Usable>> => {
    const reading = await readTlsFiles(files, clock.wallMs(), limits, last);
    const { value } = reading;
    if (value && value !== last) {
      // The lines of the key's PEM, and its DER in Base64.
      const [, body = ''] = PRIVATE_KEY.exec(value.pems) ?? [];
      secrets.addSecret('PROVIDER_TLS_KEY_FILE (PEM)', body.trim());
      secrets.addSecret('PROVIDER_TLS_KEY_FILE (DER)', body.replaceAll(/\s/g, ''));
    }
    return reading;
  };
  const variables: readonly string[] = TLS_VARIABLES.filter((name) => files[name]);
  const usable = secrets.add({ variables, read });

  return {
    /**
     * The context for the next connection: TLS 1.2 or newer, with the newest usable files. While
     * the files are unusable, as in the middle of a rotation, the last usable ones stay in use.
     * @throws {SecretFileError} if there have never been usable files
     */
    current: async (): Promise<tls.SecureContext> => (await usable()).context,
    /**
     * What was wrong with the files when they were last read: unusable, or expired. One sentence,
     * or undefined.
     */
    problem: (): string | undefined =>
      secrets
        .unusable()
        .filter(({ variable }) => variables.includes(variable))
        .map(({ variable, problem }) => `${variable} ${problem}`)
        .join('; ') || undefined,
  };
};

/** The content of all files, and the context that they make. */
interface Usable {
  readonly pems: string;
  readonly context: tls.SecureContext;
}

/**
 * @param last is used again for unchanged files, because making a context takes 30 ms with
 *   authorities
 */
const readTlsFiles = async (
  files: TlsFiles,
  nowMs: number,
  limits?: ReadLimits,
  last?: Usable,
): Promise<Reading<Usable>> => {
  const problems: FileProblem[] = [];
  const report = (variable: TlsVariable, text: string): void =>
    void problems.push({ variable, text });
  const read = async (variable: TlsVariable): Promise<string | undefined> => {
    const path = files[variable];
    if (!path) return undefined;
    try {
      const content = await readRegularFile(path, MAX_PEM_BYTES, limits);
      return content.toString('latin1').replace(BYTE_ORDER_MARKS, '');
    } catch (error) {
      report(variable, describeUnreadable(error, MAX_PEM_BYTES));
      return undefined;
    }
  };
  const ca = await read('PROVIDER_TLS_CA_FILE');
  const cert = await read('PROVIDER_TLS_CERT_FILE');
  const key = await read('PROVIDER_TLS_KEY_FILE');
  const pems = [ca, cert, key].join('\n');
  const isUnchanged = pems === last?.pems;
  const caProblem = ca === undefined || isUnchanged ? undefined : authoritiesProblem(ca);
  if (caProblem) report('PROVIDER_TLS_CA_FILE', caProblem);
  if (key !== undefined && !PRIVATE_KEY.test(key)) report('PROVIDER_TLS_KEY_FILE', NO_KEY);
  const certProblem =
    cert === undefined ? undefined : certificateProblem(parseCertificate(cert), nowMs);
  if (certProblem) report('PROVIDER_TLS_CERT_FILE', certProblem);
  if (problems.length > 0) return { problems };
  if (isUnchanged) return { problems, value: last };
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
    return { problems, value: { pems, context } };
  } catch (error) {
    const ofChain = cert === undefined ? undefined : chainProblem(cert);
    if (ofChain === undefined) report('PROVIDER_TLS_KEY_FILE', keyProblem(error));
    else report('PROVIDER_TLS_CERT_FILE', ofChain);
    return { problems };
  }
};

/**
 * Byte order marks of UTF-8, read as Latin-1. Some editors write one, perhaps into a file that is
 * then appended to another. OpenSSL does not recognise a line that begins with one.
 */
const BYTE_ORDER_MARKS = /^\xef\xbb\xbf/gm;

const keyProblem = (error: unknown): string =>
  `does not match PROVIDER_TLS_CERT_FILE (${describeReadError(error)}); it needs the private key ` +
  'that was issued with it, in PEM, without a passphrase (openssl pkey -in KEY -out NEW removes ' +
  'one), of 2048 bits or more if it is RSA';

/**
 * What is wrong with the certificates, whatever the private key is: one is damaged, or its key is
 * too short.
 */
const chainProblem = (cert: string): string | undefined => {
  try {
    tls.createSecureContext({ cert });
    return undefined;
  } catch (error) {
    return (
      `contains a certificate that cannot be used (${describeReadError(error)}); it needs the ` +
      "complete certificates: the client's, then its intermediate ones, with keys of 2048 bits or " +
      'more if they are RSA'
    );
  }
};

/** An encrypted key may have headers, such as `DEK-Info`, before its Base64. */
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----((?:(?!-----)[^])+)-----END/;
const NO_KEY = 'contains no private key in PEM; it needs a "BEGIN PRIVATE KEY" block';
const NO_CERTIFICATE =
  'contains no certificate in PEM; it needs one or more "BEGIN CERTIFICATE" blocks';

/** OpenSSL stops at a damaged certificate, and trusts none after it, without an error. */
const authoritiesProblem = (pem: string): string | undefined => {
  const blocks = pem.split(AFTER_CERTIFICATE).filter((text) => linesOf(text) > 0);
  if (blocks.length === 0) return NO_CERTIFICATE;
  const damaged = blocks.findIndex((block) => linesOf(block) !== 2 || !parseCertificate(block));
  if (damaged === -1) return undefined;
  return (
    `contains a damaged certificate (number ${damaged + 1} of ${blocks.length}); replace or remove ` +
    'it: neither it nor any after it would be trusted'
  );
};

/**
 * The number of BEGIN and END lines of certificates. Indented lines count, though OpenSSL skips
 * them; lines in a comment do not.
 */
const linesOf = (text: string): number => text.match(CERTIFICATE_LINES)?.length ?? 0;
const CERTIFICATE_LINES = /^[ \t]*-----(?:BEGIN|END) (?:X509 |TRUSTED )?CERTIFICATE-----/gm;
const AFTER_CERTIFICATE = /(?<=^[ \t]*-----END (?:X509 |TRUSTED )?CERTIFICATE-----)/m;

/** The first certificate; if others follow, it is the client's own. */
const parseCertificate = (pem: string): X509Certificate | undefined => {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
};

const certificateProblem = (
  certificate: X509Certificate | undefined,
  nowMs: number,
): string | undefined => {
  if (!certificate) return NO_CERTIFICATE;
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (Number.isNaN(from) || Number.isNaN(to)) return NO_DATE;
  if (from <= nowMs && nowMs < to) return undefined;
  return `is valid only from ${dateOf(from)} to ${dateOf(to)}; get the current one from its issuer, or check this machine's clock`;
};

const NO_DATE =
  'contains a certificate with a date that does not exist; get another one from its issuer';

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

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
