import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';
import * as z from 'zod';
import { MAX_LIST_ENTRIES, MAX_PATH_DEPTH } from '../json.ts';
import { MAX_SECRET_BYTES, secretProblem, toSecret, type SecretRule } from '../secrets/secret.ts';

// One schema for each kind of value: from text to a typed value. A problem says what is wrong and
// what would be right, and never repeats the value, which may be a misplaced secret.

/** @param parse gives undefined for what is not of this kind */
export const kind = <T>(problem: string, parse: (text: string) => T | undefined) =>
  z.string().transform((text, ctx): T => {
    const value = parse(text);
    if (value !== undefined) return value;
    ctx.addIssue({ code: 'custom', message: problem });
    return z.NEVER;
  });

const itemsOf = (text: string): string[] => text.split(',').map((item) => item.trim());

/** A list with commas; undefined if one of its items is not valid. */
const listOf = (text: string, isValid: (item: string) => boolean): string[] | undefined => {
  const items = itemsOf(text);
  return items.every(isValid) ? items : undefined;
};

/** One of `choices`, exactly as written there. */
export const oneOf = <const C extends string>(choices: readonly C[]) =>
  kind(`must be one of ${choices.join(', ')}`, (text) => choices.find((known) => known === text));

const toPort = (text: string): number | undefined =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;

export const port = kind(
  'is not a port; use a number from 0 to 65535 (0 picks a free one)',
  toPort,
);
export const portOrOff = kind(
  'is not a port; use a number from 0 to 65535, or off',
  (text): number | 'off' | undefined => (text === 'off' ? text : toPort(text)),
);

/** RFC 1123 section 2.1, and the underscore that some internal names have. */
const isHostName = (text: string): boolean => {
  const labels = text.replace(/\.$/, '').split('.');
  return (
    text.length <= 253 &&
    labels.every((label) => /^[a-z\d_](?:[\w-]{0,61}[a-z\d_])?$/i.test(label)) &&
    // A number at the end makes it an address, which this is not.
    !/^\d+$/.test(labels.at(-1) ?? '')
  );
};

export const listenHost = kind(
  'is not an address or a host name; write it without scheme, port, path, brackets and *, such as 127.0.0.1, or 0.0.0.0 or :: for all addresses',
  (text) => (isIP(text) !== 0 || isHostName(text) ? text : undefined),
);

/** Names as `Host` may have them: in lower case, without a trailing dot. */
export const hostNames = kind(
  'is not a list of host names; use names without scheme or port, such as banks-ops.internal.example.com',
  (text) => listOf(text.toLowerCase(), isHostName)?.map((name) => name.replace(/\.$/, '')),
);

/** URL would leave line breaks and tabs out. */
const toUrl = (text: string, protocols: readonly string[]): URL | undefined => {
  const url = !/[\s\p{Cc}]/u.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  return url?.hostname && protocols.includes(url.protocol) && text.length <= MAX_SECRET_BYTES
    ? url
    : undefined;
};

const hasUser = ({ username, password }: URL): boolean => username !== '' || password !== '';

const WEB = ['http:', 'https:'];

const toBaseUrl = (text: string): URL | undefined => {
  const url = toUrl(text, WEB);
  return url && !hasUser(url) && !/[?#]/.test(text) ? url : undefined;
};

export const baseUrl = kind(
  'is not an address without user info, query and fragment; use one such as https://api.example.com',
  toBaseUrl,
);

export const httpsBaseUrl = baseUrl.refine((url) => url.protocol === 'https:', {
  error: 'must be https: in production; the token is sent there',
});

/** Its query may be a key. RFC 6749 section 3.2 allows a query, but no fragment. */
export const tokenUrl = kind(
  'is not an address without user info and fragment; use one such as https://login.example.com/token',
  (text) => {
    const url = toUrl(text, WEB);
    return url && !hasUser(url) && !text.includes('#') ? toSecret(url.href) : undefined;
  },
);

/** Whether every % in user and password is an escape (RFC 3986 section 2.1). */
const isDecodable = ({ username, password }: URL): boolean => {
  try {
    return decodeURIComponent(username + password) !== undefined;
  } catch {
    return false;
  }
};

/** The path is the number of a database. */
export const redisUrl = kind(
  'is not a Redis address; use one such as redis://host:6379 or rediss://user:password@host:6379/2, without a query, and in a password %3F for ?, %23 for # and %25 for %',
  (text) => {
    const url = toUrl(text, ['redis:', 'rediss:']);
    const isAddress = url && /^\/?\d{0,5}$/.test(url.pathname) && !/[?#]/.test(text);
    return isAddress && isDecodable(url) ? toSecret(text) : undefined;
  },
);

/**
 * The password of the address `url` as written there and decoded: client libraries may quote
 * either.
 */
export const passwordsIn = (url: string): string[] => {
  const { password } = new URL(url);
  return password === '' ? [] : [...new Set([password, decodeURIComponent(password)])];
};

/** An egress proxy. Without a scheme it is http:, as for curl. */
export const proxyUrl = kind(
  'is not the address of an HTTP proxy; use one such as http://user:password@proxy.example.com:3128, and in a password %25 for %',
  (text) => {
    const url = toUrl(text.includes('://') ? text : `http://${text}`, WEB);
    const isAddress = url?.pathname === '/' && !/[?#]/.test(text);
    return isAddress && isDecodable(url) ? toSecret(url.href) : undefined;
  },
);

/** A secret that satisfies `rule`. */
export const secretWith = (rule: SecretRule) =>
  z.string().transform((text, ctx) => {
    const problem = secretProblem(text, rule);
    if (problem === undefined) return toSecret(text);
    const needed = rule.bearer ? 'visible ASCII characters' : 'bytes of text';
    ctx.addIssue({
      code: 'custom',
      message: `${problem}; it needs ${rule.minChars} to ${MAX_SECRET_BYTES} ${needed}`,
    });
    return z.NEVER;
  });

/** The longest path that Linux takes. */
export const MAX_TEXT_BYTES = 4_096;

/** A name, a path or an identifier, taken as it is. */
export const singleLine = kind(
  `has a control character, such as a line break, or more than ${MAX_TEXT_BYTES} bytes`,
  (text) => (/\p{Cc}/u.test(text) || Buffer.byteLength(text) > MAX_TEXT_BYTES ? undefined : text),
);

/** A number with a unit; NaN for anything else. */
const toAmount = (text: string, units: Readonly<Record<string, number>>): number => {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)([a-z]+)$/.exec(text) ?? [];
  return Math.round(Number(digits) * (units[unit] ?? NaN));
};

const MS_PER_UNIT = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Below 10 ms a rehearsal measures the timer; above a year the value is a mistake. */
export const durationMs = kind(
  'is not a duration; use a number with a unit from 10ms to 366d, such as 250ms, 30s, 5m, 1h or 7d',
  (text) => {
    const ms = toAmount(text, MS_PER_UNIT);
    return ms >= 10 && ms <= 366 * MS_PER_UNIT.d ? ms : undefined;
  },
);

const BYTES_PER_UNIT = { b: 1, kb: 1024, mb: 1024 * 1024 };
const MAX_BODY_MB = 16;

/** The list is parsed in one go, and is in memory several times while it is checked. */
export const byteCount = kind(
  `is not a size; use a number with a unit up to ${MAX_BODY_MB}mb, such as 512kb or 5mb`,
  (text) => {
    const bytes = toAmount(text.toLowerCase(), BYTES_PER_UNIT);
    return bytes >= 1 && bytes <= MAX_BODY_MB * BYTES_PER_UNIT.mb ? bytes : undefined;
  },
);

export const entryCount = kind(
  `is not a number of banks; use a whole number such as 100, up to ${MAX_LIST_ENTRIES}: no longer list is loaded`,
  (text) => (/^\d{1,9}$/.test(text) && Number(text) <= MAX_LIST_ENTRIES ? Number(text) : undefined),
);

/** A percentage as a share from 0 to 1. */
export const share = kind(
  'is not a share; use a percentage from 0% to 100%, such as 20%',
  (text) => {
    const percent = /^\d+(?:\.\d+)?%$/.test(text) ? Number(text.slice(0, -1)) : NaN;
    return percent <= 100 ? percent / 100 : undefined;
  },
);

const isFieldName = (text: string): boolean =>
  /^[^\s\p{C}"\\?:]+$/u.test(text) && text !== '__proto__';

/**
 * `name`, `name:from`, or either with a `?` at its end. `from` is the provider's name of the field,
 * or its path.
 */
export const fields = kind(
  'is not a list of fields, each with a name of its own; use names such as code,ispb,name, id:ispb to rename, ispb:ids.ispb for a field inside an object, or logo? for an optional field',
  (text) => {
    const parsed = itemsOf(text).map((field) => {
      const isOptional = field.endsWith('?');
      const names = (isOptional ? field.slice(0, -1) : field).split(':');
      const [name = '', from = name] = names;
      const isValid = names.length <= 2 && isFieldName(name) && isFieldName(from);
      return isValid ? { name, from, isOptional } : undefined;
    });
    const all = parsed.filter((field) => field !== undefined);
    const isUnique = new Set(all.map(({ name }) => name)).size === parsed.length;
    return isUnique ? all : undefined;
  },
);

export const fieldNames = kind(
  'is not a list of field names; use names such as code,name',
  (text) => listOf(text, isFieldName),
);

/** Where something is in a response: names of members, with dots between them. */
const memberPath = (what: string, example: string) =>
  kind(
    `is not the path of ${what}; use up to ${MAX_PATH_DEPTH} names with dots between them, such as ${example}`,
    (text) => {
      const names = text.split('.');
      return names.length <= MAX_PATH_DEPTH && names.every(isFieldName) ? text : undefined;
    },
  );

export const listPath = memberPath('a list', 'data or data.banks');
export const tokenPath = memberPath('a token', 'accessToken or data.token');

/**
 * RFC 6454 section 6.2: as browsers send it. Pages in apps and browser extensions have a scheme of
 * their own, such as `capacitor://localhost`.
 */
const isOrigin = (text: string): boolean => {
  if (/^https?:/.test(text))
    return !text.includes('*') && URL.canParse(text) && new URL(text).origin === text;
  return /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]{1,253}(?::\d{1,5})?$/.test(text);
};

export const origins = kind(
  'is not a list of exact origins; use * alone, or scheme and host as browsers send them, without default port, slash, path, capital letters or a * in it, such as https://app.example.com,http://localhost:5173',
  (text): '*' | readonly string[] | undefined => (text === '*' ? text : listOf(text, isOrigin)),
);

/** Checked by the package that will use it, which refuses a range of all addresses, for example. */
const isAddressRange = (text: string): boolean => {
  try {
    proxyAddr.compile([text]);
    return isIP(text.split('/')[0] ?? '') !== 0;
  } catch {
    return false;
  }
};

/** `true` would believe every client's X-Forwarded-For. */
export const trustedProxies = kind(
  'must be the number of proxies in front, or their addresses such as 10.0.0.0/8; not all addresses',
  (text): number | readonly string[] | undefined =>
    /^\d{1,2}$/.test(text) ? Number(text) : listOf(text, isAddressRange),
);

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
