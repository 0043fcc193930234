import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { SecretName } from './secret.ts';

// The rules for secrets, whether they come from a variable, a file or the token endpoint: which can
// be used, how they are read and written, and what in them must never be seen.

/** A large JWT has 4 kB; servers refuse header sections of more than 8 to 16 kB. */
const MAX_SECRET_BYTES = 8_192;

/** In production a shorter one can be guessed, and occurs in ordinary text, so that it is not redacted. */
const MIN_CHARS_IN_PRODUCTION = 8;

/**
 * The secrets of the emulator and of the compose file: everybody knows them, and a list made with
 * them is not a real one.
 */
const DEMO_SECRETS = ['emulator-access-token', 'emulator-secret', 'demo-management-token'];

/**
 * What is wrong with a secret, without quoting it; undefined if nothing is. A granted token is
 * checked as PROVIDER_ACCESS_TOKEN.
 */
export const secretProblem = (
  name: SecretName,
  text: string,
  environment: string | undefined,
): string | undefined => {
  if (text === '') return 'is empty; write the secret into it';
  if (name === 'PROVIDER_TLS_KEY') return isPrivateKey(text) ? undefined : NO_KEY;
  if (name === 'PROVIDER_TLS_CA' || name === 'PROVIDER_TLS_CERT')
    return areCertificates(text) ? undefined : NO_CERTIFICATES;
  if (Buffer.byteLength(text) > MAX_SECRET_BYTES) return `has more than ${MAX_SECRET_BYTES} bytes`;
  if (name === 'PROVIDER_HEADERS') return isHeaderList(text) ? undefined : NO_HEADERS;
  if (name === 'CACHE_REDIS_URL') return isRedisUrl(text) ? undefined : NO_REDIS_URL;
  // RFC 6749 appendix A.2 allows no control characters in a client secret.
  if (/[\r\n\0]/.test(text))
    return 'has more than one line, or a NUL character; keep the line with the secret';
  // As in a scope (RFC 6749 appendix A.4); RFC 6750 section 2.1 is narrower still.
  if (name.endsWith('_TOKEN') && !/^[\x21\x23-\x5b\x5d-\x7e]*$/.test(text))
    return 'has a character that no token has, such as a space, " or \\; write the token alone';
  const isProduction = environment === 'production';
  const minChars = MIN_CHARS[name] ?? (isProduction ? MIN_CHARS_IN_PRODUCTION : 1);
  if (text.length < minChars) return `has fewer than ${minChars} characters`;
  return isProduction && DEMO_SECRETS.includes(text.trim())
    ? 'is the demo secret, which is public; use another one in production'
    : undefined;
};

const MIN_CHARS: Readonly<Partial<Record<SecretName, number>>> = {
  // Anybody on the network can try to guess it; 16 random letters and digits are 95 bits.
  MANAGEMENT_TOKEN: 16,
  // What is signed with it is trusted by all replicas, and can be tried against guesses without
  // asking anybody.
  CACHE_SIGNING_KEY: 32,
};

/**
 * Percent-encodes what a server that decodes forms would misread, and the colon. RFC 6749 section
 * 2.3.1 wants more characters encoded; but many servers do not decode, and for those a UUID, or a
 * secret in Base64 without a plus sign, must stay as it is.
 */
export const encodeForBasic = (text: string): string =>
  // A lone surrogate cannot be encoded; a buffer replaces it.
  Buffer.from(text)
    .toString()
    .replaceAll(/[^\w.~!$'()*,/=@-]+/gu, encodeURIComponent);

/** What in a secret must never be seen. */
export const secretParts = (name: SecretName, text: string): readonly string[] => {
  if (name === 'PROVIDER_HEADERS') return headersIn(text).map(([, value]) => value);
  if (name === 'PROVIDER_TLS_CA' || name === 'PROVIDER_TLS_CERT') return [];
  if (name === 'PROVIDER_TLS_KEY') return [text.replaceAll(/-----[^-]+-----/g, '').trim()];
  if (name === 'PROVIDER_CLIENT_SECRET') return [text, encodeForBasic(text)];
  // Errors quote an address without its password.
  return name === 'CACHE_REDIS_URL' ? passwordsIn(text) : [text];
};

/** The path is the number of a database. */
const isRedisUrl = (text: string): boolean =>
  /^rediss?:\/\/[^/?#]+(?:\/\d*)?$/.test(text) && isAddress(text);
const NO_REDIS_URL =
  'is not a Redis address; use one such as redis://host:6379 or rediss://user:password@host:6379/2, without a query, and in a password %2F for /, %3F for ?, %23 for # and %25 for %';

/** Whether `text` is a URL in which each % begins an escape (RFC 3986 section 2.1). */
export const isAddress = (text: string): boolean => {
  try {
    decodeURIComponent(text);
    return URL.canParse(text);
  } catch {
    return false;
  }
};

/** The password of an address, as it is written there and decoded: libraries may quote either. */
export const passwordsIn = (url: string): readonly string[] => {
  const { password } = new URL(url);
  return [password, decodeURIComponent(password)];
};

/** What the service says by itself, and what frames a message or belongs to the connection. */
const RESERVED_HEADERS =
  /^(?:accept|accept-encoding|authorization|connection|content-encoding|content-length|expect|host|keep-alive|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade|user-agent)$/;

const isHeaderList = (text: string): boolean => {
  const headers = headersIn(text);
  const isUnique = new Set(headers.map(([name]) => name)).size === headers.length;
  return headers.length > 0 && isUnique && headers.every(isHeader);
};

const isHeader = ([name, value]: readonly [string, string]): boolean =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
  /^[\x20-\x7e]+$/.test(value) &&
  !RESERVED_HEADERS.test(name);
const NO_HEADERS =
  'is not a list of header lines; use lines such as x-api-key: 123, each with a name of its own, separated by ; and in ASCII; the service sets Accept, Authorization, Host and the headers of connections itself';

/** Header lines, one a line or separated by `;`, such as `x-api-key: 123`; names in lower case. */
export const headersIn = (text: string): readonly (readonly [name: string, value: string])[] =>
  text
    .split(/[;\r\n]+/)
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.trim().toLowerCase(), value.join(':').trim()];
    });

const isPrivateKey = (pem: string): boolean => {
  try {
    return createPrivateKey(pem).type === 'private';
  } catch {
    return false;
  }
};
const NO_KEY =
  'contains no private key in PEM without a passphrase; it needs a "BEGIN PRIVATE KEY" block (of a .p12 file: openssl pkcs12 -in FILE -nocerts -nodes; openssl pkey -in KEY -out NEW removes a passphrase)';

/** OpenSSL stops at a damaged authority, and trusts none after it, without an error. */
const areCertificates = (pem: string): boolean => {
  try {
    const certificates = pem.match(CERTIFICATES) ?? [];
    return certificates.map((each) => new X509Certificate(each)).length > 0;
  } catch {
    return false;
  }
};
const CERTIFICATES = /-----BEGIN [A-Z ]*CERTIFICATE-----[^]*?-----END [A-Z ]*CERTIFICATE-----/g;
const NO_CERTIFICATES =
  'contains no certificate in PEM, or a damaged one; it needs one or more "BEGIN CERTIFICATE" blocks (of a .p12 file: openssl pkcs12 -in FILE -nokeys)';
