import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import * as tls from 'node:tls';
import type { Clock } from '../clock.ts';
import { describeReadError, readRegularFile, readRegularFileSync } from '../regular-file.ts';

// The files of mutual TLS and private authorities: client certificate, private key, extra authorities, all in PEM. They are
// checked at the start and read again for each connection, so that they can be rotated.

/** The paths; a certificate and its key are both set or both unset. */
export interface TlsFiles {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

type Part = keyof TlsFiles;

export const TLS_VARIABLES = {
  ca: 'PROVIDER_TLS_CA_FILE',
  cert: 'PROVIDER_TLS_CERT_FILE',
  key: 'PROVIDER_TLS_KEY_FILE',
} as const satisfies Record<Part, string>;

/** What is wrong with a file, and what would be right; never any of its content. */
export interface TlsProblem {
  readonly variable: (typeof TLS_VARIABLES)[Part];
  readonly problem: string;
}

/** The files cannot be used and never could. The message names the variables. */
export class TlsFilesError extends Error {
  override readonly name = 'TlsFilesError';
}

export interface TlsContextSource {
  /**
   * The context for the next connection: TLS 1.2 or newer, with the newest usable files. While the files are unusable, as
   * in the middle of a rotation, the last good ones stay in use.
   * @throws {TlsFilesError} when there have never been usable files
   */
  current(): Promise<tls.SecureContext>;
  /** What is wrong with the files as last read: they cannot be used, or have expired since. One sentence, or undefined. */
  problem(): string | undefined;
}

export interface TlsContextOptions {
  /** Is given the private key before it is used, so that it is never written. */
  readonly addSecret: (variable: string, secret: string) => void;
  /** The dates of certificates are checked against it. */
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Far more than a bundle of all public authorities takes. */
export const MAX_PEM_BYTES = 1_048_576;

/** What keeps the files from being used, all at once; none where they are fine. For the start. */
export const checkTlsFilesSync = (files: TlsFiles, nowMs: number): readonly TlsProblem[] => {
  const read = (path: string | undefined): ReadPem =>
    path === undefined ? {} : attempt(() => decode(readRegularFileSync(path, MAX_PEM_BYTES)));
  return checkPems({ ca: read(files.ca), cert: read(files.cert), key: read(files.key) }, nowMs).problems;
};

export const createTlsContextSource = (
  files: TlsFiles,
  { addSecret, clock }: TlsContextOptions,
): TlsContextSource => {
  let last: { readonly pems: Pems; readonly context: tls.SecureContext } | undefined;
  let problems: readonly TlsProblem[] = [];

  const refresh = async (): Promise<void> => {
    const pems = await readPems(files);
    if (last && PARTS.every((part) => pems[part].text === last?.pems[part].text)) {
      problems = [];
      return;
    }
    const checked = checkPems(pems, clock.wallMs());
    ({ problems } = checked);
    if (checked.context === undefined) return;
    for (const [form, text] of keyForms(pems.key.text)) addSecret(`${TLS_VARIABLES.key} ${form}`, text);
    last = { pems, context: checked.context };
  };

  return {
    current: async () => {
      await refresh();
      // Between two reads a rotation may have replaced one file of the pair: the second attempt sees both new ones.
      if (problems.length > 0) await refresh();
      if (last === undefined) throw new TlsFilesError(describe(problems));
      return last.context;
    },
    problem: () => {
      const found = problems.length === 0 && last ? checkPems(last.pems, clock.wallMs()).problems : problems;
      return found.length > 0 ? describe(found) : undefined;
    },
  };
};

const PARTS = ['ca', 'cert', 'key'] as const satisfies readonly Part[];

/** A file's text, or why there is none; neither where no file is configured. */
interface ReadPem {
  readonly text?: string;
  readonly problem?: string;
}

type Pems = Readonly<Record<Part, ReadPem>>;

const readPems = async (files: TlsFiles): Promise<Pems> => {
  const read = async (path: string | undefined): Promise<ReadPem> => {
    if (path === undefined) return {};
    try {
      return decode(await readRegularFile(path, MAX_PEM_BYTES));
    } catch (error) {
      return unreadable(error);
    }
  };
  const [ca, cert, key] = await Promise.all([read(files.ca), read(files.cert), read(files.key)]);
  return { ca, cert, key };
};

const attempt = (read: () => ReadPem): ReadPem => {
  try {
    return read();
  } catch (error) {
    return unreadable(error);
  }
};

const decode = (bytes: Buffer): ReadPem => ({ text: bytes.toString('latin1') });

const unreadable = (error: unknown): ReadPem => ({
  problem: `cannot be read (${describeReadError(error)}); name a regular file of at most ${MAX_PEM_BYTES} bytes that this user may read`,
});

/** Pure: the context that the texts make, or what is wrong with them. */
const checkPems = (
  pems: Pems,
  nowMs: number,
): { readonly problems: readonly TlsProblem[]; readonly context?: tls.SecureContext } => {
  const leaf = readCertificates(pems.cert.text)?.[0];
  const key = readKey(pems.key.text);
  const found: Record<Part, string | undefined> = {
    ca: pems.ca.problem ?? caProblem(pems.ca.text, nowMs),
    cert: pems.cert.problem ?? certProblem(pems.cert.text, leaf, nowMs),
    key: pems.key.problem ?? keyProblem(pems.key.text, key, leaf),
  };
  const problems = PARTS.flatMap((part) =>
    found[part] === undefined ? [] : [{ variable: TLS_VARIABLES[part], problem: found[part] }],
  );
  if (problems.length > 0) return { problems };
  try {
    const { ca, cert, key: keyPem } = pems;
    const context = tls.createSecureContext({
      minVersion: 'TLSv1.2',
      ...(ca.text !== undefined && { ca: [...defaultAuthorities(), ca.text] }),
      ...(cert.text !== undefined && { cert: cert.text, key: keyPem.text }),
    });
    return { problems, context };
  } catch (error) {
    // For instance a key that is shorter than OpenSSL's security level allows.
    const problem = `is refused by OpenSSL (${describeReadError(error)}); use an RSA key of 2048 bits or more, or one for P-256`;
    return { problems: [{ variable: TLS_VARIABLES.cert, problem }] };
  }
};

const caProblem = (pem: string | undefined, nowMs: number): string | undefined => {
  if (pem === undefined) return undefined;
  const certificates = readCertificates(pem);
  if (!certificates)
    return 'holds no certificate in PEM; it needs one or more "BEGIN CERTIFICATE" blocks, all intact';
  const isExpired = certificates.every(({ validTo }) => Date.parse(validTo) <= nowMs);
  return isExpired ? `has only expired certificates; get the authority's current one` : undefined;
};

const certProblem = (
  pem: string | undefined,
  leaf: X509Certificate | undefined,
  nowMs: number,
): string | undefined => {
  if (pem === undefined) return undefined;
  if (!leaf)
    return 'holds no certificate in PEM; it needs the client certificate, followed by intermediate ones if there are any';
  if (Date.parse(leaf.validTo) <= nowMs)
    return `expired on ${dateOf(leaf.validTo)}; get a new one from its issuer`;
  if (Date.parse(leaf.validFrom) > nowMs)
    return `is not valid before ${dateOf(leaf.validFrom)}; check this machine's clock, or wait`;
  return undefined;
};

const keyProblem = (
  pem: string | undefined,
  key: KeyObject | undefined,
  leaf: X509Certificate | undefined,
): string | undefined => {
  if (pem === undefined) return undefined;
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem))
    return 'is encrypted, and there is no variable for a passphrase; decrypt it (openssl pkey -in KEY -out NEW) and let only this user read it';
  if (!key) return 'holds no private key in PEM; it needs one "BEGIN PRIVATE KEY" block';
  if (leaf && !leaf.checkPrivateKey(key))
    return `does not belong to the certificate in ${TLS_VARIABLES.cert}; install the two that were issued together`;
  return undefined;
};

/** Undefined where there is none, or where one of them is damaged. */
const readCertificates = (pem = ''): readonly X509Certificate[] | undefined => {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  try {
    return blocks?.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
};

const readKey = (pem: string | undefined): KeyObject | undefined => {
  try {
    return pem === undefined ? undefined : createPrivateKey(pem);
  } catch {
    return undefined;
  }
};

/** The forms in which the key could be written: the lines of its PEM, and its DER. Base64 of both is found by itself. */
const keyForms = (pem: string | undefined): readonly (readonly [string, string])[] => {
  const body = /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+)-----END/
    .exec(pem ?? '')?.[1]
    ?.trim();
  if (body === undefined) return [];
  return [
    ['(PEM)', body],
    ['(DER)', body.replaceAll(/\s/g, '')],
  ];
};

/** `ca` replaces Node's own authorities, so they are named again. Node 22.15 and newer include NODE_EXTRA_CA_CERTS. */
const defaultAuthorities = (): readonly string[] => {
  const { rootCertificates, getCACertificates }: NewerTls = tls;
  return getCACertificates?.('default') ?? rootCertificates;
};

type NewerTls = Pick<typeof tls, 'rootCertificates'> & {
  readonly getCACertificates?: (type: 'default') => string[];
};

const describe = (problems: readonly TlsProblem[]): string =>
  problems.map(({ variable, problem }) => `${variable} ${problem}`).join('; ');

const dateOf = (text: string): string => new Date(text).toISOString().slice(0, 10);
