import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';
import { MAX_LIST_ENTRIES, MAX_PATH_DEPTH } from '../json.ts';
import { lettersApart } from '../nearest-name.ts';
import {
  MAX_SECRET_BYTES,
  type Secret,
  secretProblem,
  type SecretRule,
  toSecret,
} from '../secrets/secret.ts';

// One parser for each kind of value: text in, a typed value out, or an InvalidValue. Pure.

/**
 * What is wrong with a value and what would be right; never the value itself, which may be a
 * misplaced secret.
 */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
}

export const toPort = (text: string, hint = ' (0 picks a free one)'): number => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (!(port <= 65_535))
    throw new InvalidValue(`is not a port; use a number from 0 to 65535${hint}`);
  return port;
};

export const toPortOrOff = (text: string): number | 'off' =>
  text === 'off' ? text : toPort(text, ', or off');

const itemsOf = (text: string): string[] => {
  const items = text.split(',', MAX_ITEMS + 1);
  if (items.length > MAX_ITEMS) throw new InvalidValue(`has more than ${MAX_ITEMS} entries`);
  return items.map((item) => item.trim());
};

/** Enough for the published addresses of a large content delivery network. */
const MAX_ITEMS = 100;

const validItemsOf = (
  text: string,
  isValid: (item: string) => boolean,
  problem: string,
): string[] => {
  const items = itemsOf(text);
  if (!items.every(isValid)) throw new InvalidValue(problem);
  return items;
};

/** Names as `Host` may have them: in lower case, without a trailing dot. */
export const toHostNames = (text: string): readonly string[] =>
  validItemsOf(
    text.toLowerCase().replaceAll(/\.\s*(?=,|$)/g, ''),
    (name) =>
      name.length <= MAX_HOST_CHARS && name.split('.').every((label) => HOST_LABEL.test(label)),
    'is not a list of host names; use names without scheme or port, such as banks-ops.internal.example.com',
  );

/** RFC 1123 section 2.1, and the underscore that some internal names have. */
const HOST_LABEL = /^[a-z\d_](?:[\w-]{0,61}[a-z\d_])?$/;

/** The address or the name of the host on which a port is opened. Whether it exists is not looked up. */
export const toListenHost = (text: string): string => {
  if (isIP(text) === 0 && !isHostName(text))
    throw new InvalidValue(
      'is not an address or a host name; write it without scheme, port, path, brackets and *, such as 127.0.0.1, or 0.0.0.0 or :: for all addresses',
    );
  return text;
};

/** The parser of addresses finds the numbers that are no IPv4 address, such as `256.0.0.1`. */
const isHostName = (text: string): boolean =>
  text.length <= MAX_HOST_CHARS &&
  text
    .replace(/\.$/, '')
    .split('.')
    .every((label) => ANY_HOST_LABEL.test(label)) &&
  URL.canParse(`http://${text}`);

/** As {@link HOST_LABEL}, also with letters of other scripts, which the resolver encodes. */
const ANY_HOST_LABEL = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_-]{0,61}[\p{L}\p{M}\p{N}_])?$/u;

/** One of `choices`, exactly as written there. */
export const toOneOf =
  <const C extends string>(choices: readonly C[]) =>
  (text: string): C => {
    const choice = choices.find((known) => known === text);
    if (choice === undefined) throw new InvalidValue(`must be one of ${choices.join(', ')}`);
    return choice;
  };

const toUrl = (text: string, protocols: readonly string[], problem: string): URL => {
  if (Buffer.byteLength(text) > MAX_SECRET_BYTES)
    throw new InvalidValue(`has more than ${MAX_SECRET_BYTES} bytes`);
  // URL would leave line breaks and tabs out, and take long to find the host behind many signs.
  const atSigns = text.split('@', MAX_AT_SIGNS + 2).length - 1;
  if (/[\s\p{Cc}]/u.test(text) || atSigns > MAX_AT_SIGNS) throw new InvalidValue(problem);
  if (isHostTooLong(text))
    throw new InvalidValue(`has a host name of more than ${MAX_HOST_CHARS} characters`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !protocols.includes(url.protocol)) throw new InvalidValue(problem);
  return url;
};

/** A password may have some that are not percent-encoded. */
const MAX_AT_SIGNS = 20;

/** Whether the address `url` has a host that no name can have, which takes long to parse. */
const isHostTooLong = (url: string): boolean => {
  const [authority = ''] = url.replace(/^[^:]*:[/\\]*/, '').split(/[/\\?#]/, 1);
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '');
  return host.length > MAX_HOST_CHARS;
};

/** RFC 1035 section 2.3.4, as text. */
const MAX_HOST_CHARS = 253;

export const toHttpUrl = (text: string): URL => {
  const url = toUrl(text, WEB, 'is not an address; use one such as https://api.example.com');
  if (url.username || url.password || /[?#]/.test(text))
    throw new InvalidValue(
      'must have no user info, query or fragment; use one such as https://api.example.com',
    );
  return url;
};

const WEB = ['http:', 'https:'];

/** Where tokens are issued: the address without its query, and the query, which may be a key. */
export interface TokenEndpoint {
  readonly url: URL;
  /** As it is sent, with its question mark. */
  readonly query: Secret | undefined;
}

/** RFC 6749 section 3.2 allows a query, but no fragment. */
export const toTokenEndpoint = (text: string): TokenEndpoint => {
  const url = toUrl(
    text,
    WEB,
    'is not an address; use one such as https://login.example.com/token',
  );
  if (url.username || url.password || text.includes('#'))
    throw new InvalidValue(
      'must have no user info or fragment; use one such as https://login.example.com/token',
    );
  const { search } = url;
  url.search = '';
  return { url, query: search === '' ? undefined : toSecret(search) };
};

export const toHttpsUrl = (text: string): URL => {
  const url = toHttpUrl(text);
  if (url.protocol !== 'https:')
    throw new InvalidValue('must be https: in production; the token is sent there');
  return url;
};

/** The user and password of an address, decoded (RFC 3986 section 2.1). */
const toCredentials = ({ username, password }: URL): readonly string[] => {
  try {
    return [username, password].map(decodeURIComponent);
  } catch {
    throw new InvalidValue(
      'has a % in its user or password that does not start an escape; write %25 for it',
    );
  }
};

/** The whole address is a secret, because it may hold a password. */
export const toRedisUrl = (text: string): Secret => {
  const problem =
    'is not a Redis address; use one such as redis://host:6379 or rediss://user:password@host:6379';
  const url = toUrl(text, ['redis:', 'rediss:'], problem);
  // The path is the number of a database.
  if (!url.hostname || !/^\/?\d{0,5}$/.test(url.pathname)) throw new InvalidValue(problem);
  if (/[?#]/.test(text))
    throw new InvalidValue(
      'must have no query or fragment, which would be ignored; the number of a database is the path, as in redis://host:6379/2, and in a password ? is %3F and # is %23',
    );
  // Throws where they cannot be decoded.
  toCredentials(url);
  return toSecret(text);
};

/**
 * An egress proxy: where it is, without credentials, and `user:password` where its address has
 * them.
 */
export interface EgressProxy {
  readonly url: URL;
  readonly credentials: Secret | undefined;
}

/**
 * The whole address is a secret, because it may hold a password. Without a scheme it is http:, as
 * for curl.
 */
export const toEgressProxy = (text: string): EgressProxy => {
  const problem =
    'is not the address of an HTTP proxy; use one such as http://user:password@proxy.example.com:3128';
  const address = text.includes('://') ? text : `http://${text}`;
  // A path, a query or a fragment, which could take long to parse.
  if (!/^[^:]*:\/\/[^/?#\\]*\/?$/.test(address)) throw new InvalidValue(problem);
  const url = toUrl(address, WEB, problem);
  const credentials = toCredentials(url).join(':');
  return {
    url: new URL(url.origin),
    credentials: credentials === ':' ? undefined : toSecret(credentials),
  };
};

/**
 * Whether `text` is an address, valid or not, in which there is no secret: a scheme and at most a
 * host, a port and the number of a database. No other text counts as one: it may be misplaced.
 */
export const isBareAddress = (text: string): boolean =>
  /^[a-z][a-z\d+.-]*:\/\/(?:[\w.-]*|\[[\da-f:.]*\])(?::\d{0,5})?(?:\/\d{0,5})?$/i.test(text);

/**
 * The password of the address `url` as written there and decoded: client libraries may quote
 * either.
 */
export const passwordsIn = (url: string): string[] => {
  const { password } = new URL(url);
  return password === '' ? [] : [...new Set([password, decodeURIComponent(password)])];
};

/** A secret that satisfies `rule`. */
export const toSecretWith =
  (rule: SecretRule) =>
  (text: string): Secret => {
    const problem = secretProblem(text, rule);
    if (problem === undefined) return toSecret(text);
    const kind = rule.bearer ? 'visible ASCII characters' : 'bytes of text';
    throw new InvalidValue(`${problem}; it needs ${rule.minChars} to ${MAX_SECRET_BYTES} ${kind}`);
  };

/** A name, a path or an identifier, taken as it is. */
export const toSingleLine = (text: string): string => {
  // No file name can hold a NUL; other control characters got there by mistake.
  if (/\p{Cc}/u.test(text))
    throw new InvalidValue('has a control character, such as a line break; remove it');
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES)
    throw new InvalidValue(`has more than ${MAX_TEXT_BYTES} bytes`);
  return text;
};

/** The longest path that Linux takes. */
export const MAX_TEXT_BYTES = 4_096;

/** A number with a unit; NaN for anything else. */
const toAmount = (text: string, units: Readonly<Record<string, number>>): number => {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)([a-z]+)$/.exec(text) ?? [];
  return Math.round(Number(digits) * (units[unit] ?? NaN));
};

const MS_PER_UNIT = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const toDurationMs = (text: string): number => {
  const ms = toAmount(text, MS_PER_UNIT);
  // Below 10 ms a rehearsal measures the timer, not the service; above a year the value is a
  // mistake.
  if (!(ms >= 10 && ms <= 366 * MS_PER_UNIT.d))
    throw new InvalidValue(
      'is not a duration; use a number with a unit from 10ms to 366d, such as 250ms, 30s, 5m, 1h or 7d',
    );
  return ms;
};

const BYTES_PER_UNIT = { b: 1, kb: 1024, mb: 1024 * 1024 };
const MAX_BODY_MB = 16;

export const toBytes = (text: string): number => {
  const bytes = toAmount(text.toLowerCase(), BYTES_PER_UNIT);
  // The list is parsed in one go, and is in memory several times while it is checked.
  if (!(bytes >= 1 && bytes <= MAX_BODY_MB * BYTES_PER_UNIT.mb))
    throw new InvalidValue(
      `is not a size; use a number with a unit up to ${MAX_BODY_MB}mb, such as 512kb or 5mb`,
    );
  return bytes;
};

/** A number of entries of a list. */
export const toEntryCount = (text: string): number => {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(count <= MAX_LIST_ENTRIES))
    throw new InvalidValue(
      `is not a number of banks; use a whole number such as 100, up to ${MAX_LIST_ENTRIES}: no longer list is loaded`,
    );
  return count;
};

/** A percentage as a share from 0 to 1. */
export const toShare = (text: string): number => {
  const share = /^\d+(\.\d+)?%$/.test(text) ? Number(text.slice(0, -1)) / 100 : NaN;
  if (!(share <= 1))
    throw new InvalidValue('is not a share; use a percentage from 0% to 100%, such as 20%');
  return share;
};

/**
 * `name`, `name:from`, or either with a `?` at its end. `from` is the provider's name of the field,
 * or its path.
 */
export const toFields = (text: string) => {
  const fields = itemsOf(text).map((field) => {
    const isOptional = field.endsWith('?');
    const names = (isOptional ? field.slice(0, -1) : field).split(':', 3);
    const [name = '', from = name] = names;
    if (names.length > 2 || !isFieldName(name) || !isFieldName(from)) {
      throw new InvalidValue(
        'is not a list of fields; use names such as code,ispb,name, id:ispb to rename, ispb:ids.ispb for a field inside an ' +
          'object, or logo? for an optional field',
      );
    }
    return { name, from, isOptional };
  });
  if (new Set(fields.map((field) => field.name)).size !== fields.length) {
    throw new InvalidValue('publishes one name twice; give each field a name of its own');
  }
  return fields;
};

/** Where something is in a response: names of members, with dots between them. */
const toPath =
  (what: string, example: string) =>
  (text: string): string => {
    const names = text.split('.', MAX_PATH_DEPTH + 1);
    if (names.length > MAX_PATH_DEPTH || !names.every(isFieldName))
      throw new InvalidValue(
        `is not the path of ${what}; use up to ${MAX_PATH_DEPTH} names with dots between them, such as ${example}`,
      );
    return text;
  };

export const toListPath = toPath('a list', 'data or data.banks');
export const toTokenPath = toPath('a token', 'accessToken or data.token');

const isFieldName = (text: string): boolean =>
  /^[^\s\p{C}"\\?:]+$/u.test(text) && text !== '__proto__';

export const toFieldNames = (text: string): readonly string[] =>
  validItemsOf(text, isFieldName, 'is not a list of field names; use names such as code,name');

export const toOrigins = (text: string): '*' | readonly string[] => {
  if (text === '*') return text;
  const origins = itemsOf(text);
  const wrong = origins.findIndex((origin) => !isOrigin(origin));
  if (wrong === -1) return origins;
  throw new InvalidValue(
    `has no exact origin in entry ${wrong + 1}; it must be * alone, or scheme and host as browsers send them, without default port, ` +
      'slash, path, capital letters or a * in it, such as https://app.example.com,http://localhost:5173',
  );
};

/** RFC 6454 section 6.2. A `*` for a part of the host would be compared as it is, and never match. */
const isOrigin = (text: string): boolean =>
  text.length <= MAX_ORIGIN_CHARS &&
  /^[\x21-\x7e]*$/.test(text) &&
  !text.includes('*') &&
  !isHostTooLong(text) &&
  (/^https?:/.test(text) ? isWebOrigin(text) : isAppOrigin(text));

const MAX_ORIGIN_CHARS = 'safari-web-extension://'.length + MAX_HOST_CHARS + ':65535'.length;

const isWebOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

/**
 * Pages in apps and browser extensions have a scheme of their own, such as `capacitor://localhost`.
 * One that is nearly `http` or `https` is a typo.
 */
const isAppOrigin = (text: string): boolean => {
  const [, scheme] = /^([a-z][a-z\d+.-]*):\/\/[a-z\d._-]+(?::\d{1,5})?$/.exec(text) ?? [];
  return (
    scheme !== undefined &&
    ['http', 'https'].every((web) => lettersApart(scheme, web, MAX_TYPO_LETTERS) === Infinity)
  );
};

const MAX_TYPO_LETTERS = 2;

/**
 * The number of proxies in front, or their addresses. `true` would believe every client's
 * X-Forwarded-For.
 */
export const toTrustedProxies = (text: string): number | readonly string[] =>
  /^\d{1,2}$/.test(text)
    ? Number(text)
    : validItemsOf(
        text,
        isAddressRange,
        'must be the number of proxies in front, or their addresses such as 10.0.0.0/8; not all addresses',
      );

/** Checked by the package that will use it, which refuses a range of all addresses, for example. */
const isAddressRange = (text: string): boolean => {
  if (isIP(text.split('/', 1)[0] ?? '') === 0) return false;
  try {
    proxyAddr.compile([text]);
    return true;
  } catch {
    return false;
  }
};

export const TOKEN_FORMATS = ['form', 'json'] as const;
export const TOKEN_AUTHS = ['basic', 'basic_plain', 'post'] as const;

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
