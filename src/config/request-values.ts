import { MAX_SECRET_BYTES, toSecret } from '../secrets/secret.ts';
import { kind, MAX_TEXT_BYTES } from './values.ts';

// What an operator adds to the requests for a token and for the list: a query, header lines, form
// members. They are sent as they are written.

/** A query without its question mark, as it is sent: `pageSize=1000`. Its values may be keys. */
export const query = kind(
  `is not a query; write it percent-encoded, without ? in front and #, in at most ${MAX_TEXT_BYTES} characters, such as pageSize=1000`,
  (text) =>
    /^[\x21-\x7e]+$/.test(text) && !/^\?|#/.test(text) && text.length <= MAX_TEXT_BYTES
      ? toSecret(text)
      : undefined,
);

/** What the service sends itself. */
const TOKEN_MEMBERS = ['grant_type', 'scope', 'client_id', 'client_secret'];

/** Members of the request for a token, form-encoded: `audience=https%3A%2F%2Fapi.example.com`. */
export const tokenParams = query.refine(
  (members) =>
    [...new URLSearchParams(members.reveal()).keys()].every(
      (name) => name !== '' && !TOKEN_MEMBERS.includes(name),
    ),
  {
    error: `has a member without a name, or one that the service sends itself (${TOKEN_MEMBERS.join(', ')})`,
  },
);

/** What the service says by itself, and what frames a message or belongs to the connection. */
const RESERVED_HEADERS =
  /^(?:accept|accept-encoding|authorization|connection|content-encoding|content-length|expect|host|keep-alive|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade|user-agent)$/;

/** Header lines, one a line or separated by `;`: `x-api-key: 123`. Their values may be keys. */
export const headerLines = kind(
  `is not a list of header lines; use lines such as x-api-key: 123, each with a name of its own, separated by ; and in at most ${MAX_SECRET_BYTES} bytes of ASCII; the service sets Accept, Authorization, Host and the headers of connections itself`,
  (text) => {
    const lines = headersIn(text);
    const isValid = ([name, value]: readonly [string, string]): boolean =>
      /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
      /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) &&
      !RESERVED_HEADERS.test(name);
    const isUnique = new Set(lines.map(([name]) => name)).size === lines.length;
    return lines.length > 0 && lines.every(isValid) && isUnique && text.length <= MAX_SECRET_BYTES
      ? toSecret(text)
      : undefined;
  },
);

/** The headers of `text`, which {@link headerLines} has checked, with names in lower case. */
export const headersIn = (text: string): readonly (readonly [name: string, value: string])[] =>
  text
    .split(/[;\r\n]+/)
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.trim().toLowerCase(), value.join(':').trim()] as const;
    });
