import * as tls from 'node:tls';
import { codeOf } from '../errors.ts';
import { SecretFileError, type Contents } from './secret.ts';

/**
 * TLS 1.2 or newer with the authority, and the certificate and its key, that `pems` contains. It
 * takes 30 ms.
 * @throws {SecretFileError} if certificate and key do not fit each other
 */
export const createTlsContext = (pems: Contents): tls.SecureContext => {
  const ca = pems.PROVIDER_TLS_CA;
  try {
    return tls.createSecureContext({
      minVersion: 'TLSv1.2',
      cert: pems.PROVIDER_TLS_CERT,
      key: pems.PROVIDER_TLS_KEY,
      ...(ca !== undefined && {
        ca: [...defaultAuthorities(), ca],
        // The operator may name an intermediate authority, or the server's certificate, alone.
        allowPartialTrustChain: true,
      }),
    });
  } catch (error) {
    const problem = `does not fit PROVIDER_TLS_CERT_FILE (${codeOf(error)}); both must belong together, and RSA keys have 2048 bits or more`;
    throw new SecretFileError(new Map([['PROVIDER_TLS_KEY_FILE', problem]]));
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
