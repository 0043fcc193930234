import { MAX_SECRET_BYTES, toSecret, type Secret } from '../secrets/secret.ts';
import { InvalidValue, MAX_TEXT_BYTES } from './values.ts';

// What an operator adds to the requests for a token and for the list: a query, header lines, form
// members. Checked at the start, and sent as they are written.

/** A query without its question mark, as it is sent: `pageSize=1000`. Its values may be keys. */
export const toQuery = (text: string): Secret => {
  if (
    !/^[\x21-\x7e]+$/.test(text) ||
    /^\?|#/.test(text) ||
    Buffer.byteLength(text) > MAX_TEXT_BYTES
  )
    throw new InvalidValue(
      `is not a query; write it percent-encoded, without ? and #, in at most ${MAX_TEXT_BYTES} characters, such as pageSize=1000`,
    );
  return toSecret(text);
};

/** Members of the request for a token, form-encoded: `audience=https%3A%2F%2Fapi.example.com`. */
export const toTokenParams = (text: string): Secret => {
  const query = toQuery(text);
  const names = [...new URLSearchParams(text).keys()];
  if (names.some((name) => name === '' || TOKEN_MEMBERS.includes(name)))
    throw new InvalidValue(
      `has a member without a name, or one that the service sends itself (${TOKEN_MEMBERS.join(', ')})`,
    );
  return query;
};

const TOKEN_MEMBERS = ['grant_type', 'scope', 'client_id', 'client_secret'];

/** Header lines, one a line or separated by `;`: `x-api-key: 123`. Their values may be keys. */
export const toHeaderLines = (text: string): Secret => {
  const lines = headersIn(text);
  const isValid = ([name, value]: readonly [string, string]): boolean =>
    /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  if (lines.length === 0 || !lines.every(isValid) || Buffer.byteLength(text) > MAX_SECRET_BYTES)
    throw new InvalidValue(
      `is not a list of header lines; use lines such as x-api-key: 123, separated by ; and in at most ${MAX_SECRET_BYTES} bytes of ASCII`,
    );
  const reserved = lines.find(([name]) => RESERVED_HEADERS.includes(name));
  if (reserved)
    throw new InvalidValue(`has the header ${reserved[0]}, which the service sets itself`);
  if (new Set(lines.map(([name]) => name)).size < lines.length)
    throw new InvalidValue('has one header twice; write its values in one line');
  return toSecret(text);
};

/** The headers of `text`, which {@link toHeaderLines} has checked, with names in lower case. */
export const headersIn = (text: string): readonly (readonly [name: string, value: string])[] =>
  text
    .split(/[;\r\n]+/)
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.trim().toLowerCase(), value.join(':').trim()] as const;
    });

/** The values of header lines, which may be keys. */
export const headerValuesIn = (text: string): readonly string[] =>
  headersIn(text).map(([, value]) => value);

/** What the service says by itself, and what frames a message or belongs to the connection. */
const RESERVED_HEADERS: readonly string[] = [
  'accept',
  'accept-encoding',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
];
