import proxyAddr from 'proxy-addr';
import * as z from 'zod';
import { isAddress } from '../secrets/secret-rules.ts';
import { toSecret } from '../secrets/secret.ts';

// One schema for each kind of value: from text to a typed value. A problem says what is wrong and
// what would be right, and never repeats the value, which may be a misplaced secret.

/** No text of any variable is in quotes. */
export const anyText = z.string().refine((given) => !/^(["'`])[^]*\1$/.test(given), {
  error: 'is in quotes, which docker --env-file keeps; write it without them',
});

/** @param parse gives undefined for what is not of this kind */
const kind = <T>(problem: string, parse: (text: string) => T | undefined) =>
  anyText.transform((given, ctx): T => {
    const value = parse(given);
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

export const hostNames = kind(
  'is not a list of host names; use names without scheme or port, such as banks-ops.internal.example.com',
  (text) => listOf(text.toLowerCase(), (name) => /^[\w.-]+$/.test(name)),
);

export const baseUrl = kind(
  'is not an address without user info, query and fragment; use one such as https://api.example.com',
  (text) =>
    /^https?:\/\/[^/@?#]+(?:\/[^?#]*)?$/.test(text) && isAddress(text) ? new URL(text) : undefined,
);

export const httpsBaseUrl = baseUrl.refine((url) => url.protocol === 'https:', {
  error: 'must be https: in production; the token is sent there',
});

/** Its query may be a key. RFC 6749 section 3.2 allows a query, but no fragment. */
export const tokenUrl = kind(
  'is not an address without user info and fragment; use one such as https://login.example.com/token',
  (text) =>
    /^https?:\/\/[^/@?#]+(?:[/?][^#]*)?$/.test(text) && isAddress(text)
      ? toSecret(text)
      : undefined,
);

/** An egress proxy. Without a scheme it is http:, as for curl. */
export const proxyUrl = kind(
  'is not the address of an HTTP proxy; use one such as http://user:password@proxy.example.com:3128, and in a password %25 for %',
  (text) => {
    const url = text.includes('://') ? text : `http://${text}`;
    return /^https?:\/\/[^/?#]+\/?$/.test(url) && isAddress(url) ? toSecret(url) : undefined;
  },
);

/** A query without its question mark, as it is sent: `pageSize=1000`. Its values may be keys. */
export const query = kind(
  'is not a query; write it percent-encoded, without ? in front and #, such as pageSize=1000',
  (text) => (/^(?!\?)[\x21\x22\x24-\x7e]+$/.test(text) ? toSecret(text) : undefined),
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
  'is not a number of banks; use a whole number such as 100',
  (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined),
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
    `is not the path of ${what}; use names with dots between them, such as ${example}`,
    (text) => (text.split('.').every(isFieldName) ? text : undefined),
  );

export const listPath = memberPath('a list', 'data or data.banks');
export const tokenPath = memberPath('a token', 'accessToken or data.token');

/**
 * As browsers send it (RFC 6454 section 6.2). Pages in apps and browser extensions have a scheme of
 * their own, such as `capacitor://localhost`.
 */
const isOrigin = (text: string): boolean => /^[a-z][a-z\d+.-]*:\/\/[a-z\d.:[\]_-]+$/.test(text);

export const origins = kind(
  'is not a list of exact origins; use * alone, or scheme and host as browsers send them, without default port, slash, path, capital letters or a * in it, such as https://app.example.com,http://localhost:5173',
  (text): '*' | readonly string[] | undefined => (text === '*' ? text : listOf(text, isOrigin)),
);

/** `true` would believe every client's X-Forwarded-For; the package refuses a range of all addresses. */
export const trustedProxies = kind(
  'must be the number of proxies in front, or their addresses such as 10.0.0.0/8; not all addresses',
  (text): number | readonly string[] | undefined => {
    if (/^\d+$/.test(text)) return Number(text);
    try {
      const addresses = itemsOf(text);
      proxyAddr.compile(addresses);
      return addresses;
    } catch {
      return undefined;
    }
  },
);

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
