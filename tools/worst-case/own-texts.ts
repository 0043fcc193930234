import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { parseConfig } from '../../src/config/config.ts';
import { checkConfig } from '../../src/config/environment.ts';
import { VARIABLE_NAMES, type VariableName } from '../../src/config/variables.ts';
import { createRedaction } from '../../src/secrets/redaction.ts';
import { SECRET_NAMES } from '../../src/secrets/secrets.ts';
import { MAX_SECRET_BYTES } from '../../src/secrets/secret.ts';
import { readTlsFiles } from '../../src/secrets/tls-files.ts';
import { SANDBOX } from '../../test/helpers/sandbox.ts';
import { ignoringErrors, type TextPlace } from './text-place.ts';
import { numbered, PLAIN, repeat, SHAPES, startingWith, type Shape } from './shapes.ts';

// What operators write: variables, .env, files of secrets and certificates. Each is read as a part
// of the whole configuration, which has an ordinary value everywhere else.

/** What lists usually have; the plain text of other variables is a long name. */
const PLAIN_LISTS: Partial<Record<VariableName, Shape>> = {
  TRUST_PROXY: numbered(
    (index) => ['127.0.0.1', ',::1', ',10.0.0.0/8', ',fd00::/8,'][index % 4] ?? '',
    'addresses of proxies',
  ),
  CORS_ORIGINS: numbered((index) => `https://app${index}.example.com,`, 'origins'),
  MANAGEMENT_HOSTS: numbered((index) => `ops${index}.example.com,`, 'host names'),
  BANK_FIELDS: numbered((index) => `field${index},`, 'fields'),
  BANK_REQUIRED_FIELDS: numbered((index) => `field${index},`, 'fields'),
};

/** What is before the worst text where only an address is read any further. */
const SCHEMES: Partial<Record<VariableName, string>> = {
  PROVIDER_SANDBOX_BASE_URL: 'https://',
  PROVIDER_PRODUCTION_BASE_URL: 'https://',
  PROVIDER_TOKEN_URL: 'https://',
  HTTPS_PROXY: 'http://',
  HTTP_PROXY: 'http://',
  CACHE_REDIS_URL: 'rediss://',
  CORS_ORIGINS: 'https://',
};

const addresses = (scheme: string): readonly Shape[] =>
  [scheme, `${scheme}a/`, `${scheme}a:a@`].flatMap((start) =>
    [...SHAPES, NON_ASCII].map((shape) => startingWith(start, shape)),
  );
const NON_ASCII = repeat('é.');

/** Of every kind, as short as they can be. */
const SHORT_ITEMS = [
  numbered((index) => `::${(index % 65_535).toString(16)},`, 'short IPv6 addresses'),
  numbered((index) => `::1/${1 + (index % 128)},`, 'short ranges'),
  numbered((index) => `${index.toString(36)},`, 'short names'),
  numbered((index) => `${index.toString(36)}:a?,`, 'short fields'),
  numbered(() => 'http://a,', 'short origins'),
  numbered(() => 'http://[::1],', 'origins that are addresses'),
];

/** Lines, as a file of variables has them. */
const LINES: readonly Shape[] = [
  ...['a', 'A=', '=', 'A="', "A='", 'A=`', 'export ', '#', '', 'A="a\n"', 'PORT_A'].map((line) =>
    repeat(`${line}\n`),
  ),
  numbered((index) => `A${index}=\n`, 'short variables'),
  numbered((index) => `PROVIDER_${index}=1\n`, 'unknown variables'),
  numbered((index) => `CORS_ORIGIN${index % 1_000}=1\n`, 'near misses'),
  numbered((index) => `CORS_ORI${index}=1\n`, 'names that begin as ours'),
  numbered((index) => `A${index}="${'x'.repeat(50)}\n`, 'quotes that do not end'),
];
const OTHER_VARIABLES = numbered(
  (index) => `SERVICE_${index}_URL=https://service-${index}.example.com/path\n`,
  'variables of other programs',
);

const BUNDLE: Shape = {
  name: 'a bundle of authorities',
  text: (length) => `${rootCertificates.join('\n')}\n`.slice(0, length),
};
const [SHORTEST = ''] = rootCertificates.toSorted((a, b) => a.length - b.length);
const PEMS: readonly Shape[] = [
  SHORTEST,
  '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n',
  '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n',
  '-----BEGIN ',
  '-----BEGIN PRIVATE KEY-----\n',
].map((unit) => ({ ...repeat(unit), name: `${JSON.stringify(unit.slice(0, 40))} repeated` }));

/** The start of `text` that has as many bytes as `text` has characters. */
const inBytes = (text: string): string =>
  new TextDecoder().decode(Buffer.from(text).subarray(0, text.length)).replace(/\ufffd$/, '');

/** @param directory the current one: .env is read there */
export const ownPlaces = (directory: string): readonly TextPlace[] => [
  ...VARIABLE_NAMES.map((name): TextPlace => ({
    name,
    longest: MAX_SECRET_BYTES,
    plain: PLAIN_LISTS[name] ?? PLAIN,
    shapes: [
      ...SHAPES,
      ...(PLAIN_LISTS[name] ? SHORT_ITEMS : []),
      ...(SCHEMES[name] === undefined ? [] : addresses(SCHEMES[name])),
    ],
    reader: ignoringErrors((text) => parseConfig({ ...SANDBOX, [name]: text })),
  })),
  {
    name: '.env',
    longest: 65_536,
    plain: OTHER_VARIABLES,
    shapes: [...LINES, ...SHAPES],
    reader: (text) => {
      writeFileSync(join(directory, '.env'), text);
      return () => checkConfig({});
    },
  },
  ...SECRET_NAMES.map((name): TextPlace => ({
    name: `the file of ${name}_FILE`,
    longest: MAX_SECRET_BYTES,
    shapes: SHAPES,
    reader: (text) => {
      const secret = inBytes(text);
      const path = join(directory, name);
      writeFileSync(path, secret);
      // As at the start.
      return async () => {
        const { addSecret, redact } = createRedaction();
        const { error } = await checkConfig({ ...SANDBOX, [`${name}_FILE`]: path });
        if (!error?.message.includes(name)) addSecret(name, secret);
        return redact('{"level":30,"msg":"request"}');
      };
    },
  })),
  {
    name: 'the file of PROVIDER_TLS_CA_FILE',
    longest: 200_000,
    plain: BUNDLE,
    shapes: [...PEMS, ...SHAPES],
    reader: (text) => {
      const path = join(directory, 'ca.pem');
      writeFileSync(path, text);
      return () => readTlsFiles({ PROVIDER_TLS_CA_FILE: path }, Date.now());
    },
  },
];
