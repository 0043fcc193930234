import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './temporary-folder.ts';

// A certificate authority of a test's own, made by the openssl command.

/** A certificate and its key: PEM, and the paths of files with it. */
export type Pair = ReturnType<ReturnType<typeof createAuthority>['issue']>;

/** As `openssl ca` takes them. */
interface Dates {
  readonly from: string;
  readonly until: string;
}

const CONFIG = `
[ca]
default_ca = authority
[authority]
new_certs_dir = .
database = index.txt
rand_serial = yes
default_md = sha256
policy = names
unique_subject = no
[names]
commonName = supplied
`;
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** @param issuer the authority of an intermediate one; unless given, it is its own */
export const createAuthority = (
  name = 'test authority',
  issuer?: { readonly certFile: string; readonly keyFile: string },
) => {
  const folder = temporaryFolder('banks-authority-');
  const openssl = (...args: readonly string[]): void =>
    void execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  writeFileSync(join(folder, 'ca.cnf'), CONFIG);
  writeFileSync(join(folder, 'index.txt'), '');
  writeFileSync(join(folder, 'names.cnf'), 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  openssl(
    'req',
    '-x509',
    ...NEW_KEY,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    `/CN=${name}`,
    ...(issuer ? ['-CA', issuer.certFile, '-CAkey', issuer.keyFile] : []),
  );
  let issued = 0;
  return {
    cert: read('ca.pem'),
    certFile: join(folder, 'ca.pem'),
    keyFile: join(folder, 'ca.key'),
    /** A certificate for `localhost` and 127.0.0.1 that names `subject`. */
    issue: (subject: string, dates = ALWAYS) => {
      issued += 1;
      const [key, request, cert] = [`${issued}.key`, `${issued}.csr`, `${issued}.pem`];
      openssl('req', ...NEW_KEY, '-keyout', key, '-out', request, '-subj', `/CN=${subject}`);
      const signed = `ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -notext -in ${request} -out ${cert}`;
      const dated = `-extfile names.cnf -startdate ${dates.from} -enddate ${dates.until}`;
      openssl(...`${signed} ${dated}`.split(' '));
      return {
        cert: read(cert),
        key: read(key),
        certFile: join(folder, cert),
        keyFile: join(folder, key),
      };
    },
  };
};

/** Good at any time that a test's clock may show. */
const ALWAYS: Dates = { from: '20200101000000Z', until: '20991231000000Z' };

/** The private key in `pair`, encrypted with a passphrase. */
export const encryptedKey = (pair: Pair): string => {
  const file = `${pair.keyFile}.encrypted`;
  const output = ['-topk8', '-out', file, '-passout', 'pass:canary-passphrase'];
  execFileSync('openssl', ['pkcs8', '-in', pair.keyFile, ...output], { stdio: 'pipe' });
  return file;
};
