import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import {
  manyBanks,
  nestFields,
  renameField,
  renumber,
  repeatFirst,
  replaceWithJunk,
  retypeField,
  thinOutField,
  toLatin1Json,
} from './altered-lists.ts';
import { brotliBomb, gzipBomb, send, sendFailure, sendMaintenancePage } from './answers.ts';

// All behaviours of the emulated provider, good and bad: one table for the bank list, one for the
// token endpoint. The types of their names are derived from the tables. Behaviours that send bank
// data require a valid token; behaviours that fail do so with any token or none. A behaviour keeps
// no state.

/**
 * Parameters of a behaviour: `retryAfter` is sent unchanged as Retry-After, `delayMs` is used by
 * `slow`.
 */
export interface BehaviourDetails {
  readonly retryAfter?: string | undefined;
  readonly delayMs?: number | undefined;
}

/** One request for the bank list and what is needed to answer it. */
interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly banks: readonly unknown[];
  readonly details: BehaviourDetails;
  /** Sends a value the way the provider sends its list: 200, compressed as configured. */
  readonly sendList: (value: unknown, headers?: OutgoingHttpHeaders) => void;
}

/** One behaviour of the list. */
export interface ListBehaviour {
  readonly description: string;
  readonly needsToken: boolean;
  readonly answer: (exchange: Exchange) => void;
}

/** The token endpoint's successful response. */
export interface Grant {
  readonly access_token: string;
  readonly token_type?: string;
  readonly expires_in?: number | string | null;
}

/**
 * One behaviour of the token endpoint: it fails, or it grants a token that the list accepts or
 * rejects.
 */
export type TokenBehaviourRow =
  | {
      readonly description: string;
      readonly fail: (req: IncomingMessage, res: ServerResponse) => void;
    }
  | {
      readonly description: string;
      readonly grant: (grant: Grant) => object;
      readonly accepted: boolean;
      /** How the request must be written; a form unless set. */
      readonly format?: 'json';
      /** How the client must authenticate; with HTTP Basic, whose parts are decoded, unless set. */
      readonly auth?: 'basic_plain' | 'post';
      /** Status of the grant; 200 unless set. */
      readonly status?: number;
      /** Status for a request that is written in the other format; 400 unless set. */
      readonly wrongFormatStatus?: number;
    };

const JSON_TYPE = 'application/json';
const HTML_TYPE = 'text/html; charset=utf-8';

const data = (description: string, answer: ListBehaviour['answer']): ListBehaviour => ({
  description,
  needsToken: true,
  answer,
});

const failure = (description: string, answer: ListBehaviour['answer']): ListBehaviour => ({
  description,
  needsToken: false,
  answer,
});

const status = (description: string, code: number, error: string): ListBehaviour =>
  failure(description, ({ req, res, details }) =>
    sendFailure(req, res, code, error, retryAfterHeader(details)),
  );

/** The behaviours of `GET /api/v1/banks`. */
export const listBehaviours = {
  healthy: data('the bank list', ({ banks, sendList }) => sendList(banks)),
  slow: data('the bank list after delayMs (default 1000)', ({ banks, details, res, sendList }) => {
    const timer = setTimeout(() => sendList(banks), details.delayMs ?? 1000);
    res.once('close', () => clearTimeout(timer));
  }),

  // The connection fails.
  refuse: failure('connections are refused and open ones destroyed', ({ req }) => reset(req)),
  reset: failure('the connection is reset before a response', ({ req }) => reset(req)),
  hang: failure('the request is accepted and never answered', () => undefined),
  stall: data('headers and half of the list, then nothing more', ({ res, banks }) =>
    writeHalf(res, banks),
  ),
  'cut-short': data(
    'half of the Content-Length, then the connection closes',
    ({ req, res, banks }) => writeHalf(res, banks, () => req.socket.destroy()),
  ),
  drip: data('headers, then one space every 20 ms without end', ({ res }) => {
    res.writeHead(200, { 'content-type': JSON_TYPE });
    res.flushHeaders();
    const timer = setInterval(() => res.write(' '), 20);
    res.once('close', () => clearInterval(timer));
  }),

  // The provider responds with an error, or with something other than JSON.
  'bad-request': status('400', 400, 'bad_request'),
  unauthorized: status('401, even with a valid token', 401, 'unauthorized'),
  forbidden: status('403', 403, 'forbidden'),
  'not-found': status('404', 404, 'not_found'),
  'rate-limited': status('429, with Retry-After if retryAfter is set', 429, 'rate_limited'),
  'server-error': status('500', 500, 'server_error'),
  unavailable: status('503, with Retry-After if retryAfter is set', 503, 'unavailable'),
  redirect: failure('302 to another origin, where nothing listens', ({ req, res }) =>
    sendFailure(req, res, 302, 'moved', { location: 'http://127.0.0.1:9/' }),
  ),
  'no-content': failure('204', ({ res }) => res.writeHead(204).end()),
  html: failure('200 with an HTML maintenance page', ({ req, res }) =>
    sendMaintenancePage(req, res, HTML_TYPE),
  ),
  'html-as-json': failure('200 with the maintenance page as application/json', ({ req, res }) =>
    sendMaintenancePage(req, res, JSON_TYPE),
  ),

  // The response body is wrong.
  'wrong-type': data('the bank list as text/plain', ({ banks, sendList }) =>
    sendList(banks, { 'content-type': 'text/plain' }),
  ),
  'not-json': data('incomplete JSON with a matching Content-Length', ({ res }) =>
    send(res, 200, JSON_TYPE, '{"banks": ['),
  ),
  'not-utf8': data('the bank list in ISO-8859-1', ({ res, banks }) =>
    send(
      res,
      200,
      JSON_TYPE,
      toLatin1Json([...banks, { code: '998', ispb: '99999998', name: 'CRÉDITO é' }]),
    ),
  ),
  envelope: data('the bank list inside {"data": ...}', ({ banks, sendList }) =>
    sendList({ data: banks }),
  ),
  'deep-envelope': data(
    'the first 50 entries inside {"data": {"banks": ...}}, beside members of pages',
    ({ banks, sendList }) =>
      sendList({
        meta: { total: banks.length, page: 1 },
        data: { banks: banks.slice(0, 50), errors: [] },
      }),
  ),
  nested: data('codes and names inside objects, with a list of objects', ({ banks, sendList }) =>
    sendList(nestFields(banks)),
  ),
  'nested-envelope': data('the nested list inside {"data": ...}', ({ banks, sendList }) =>
    sendList({ data: nestFields(banks) }),
  ),
  'large-head': data('the bank list, with 20 KiB of headers', ({ banks, sendList }) =>
    sendList(banks, { 'x-padding': 'x'.repeat(20 * 1024) }),
  ),
  null: data('JSON null', ({ sendList }) => sendList(null)),
  'too-deep': data('a list nested 100,000 levels deep', ({ res }) =>
    send(res, 200, JSON_TYPE, `[${'['.repeat(100_000)}${']'.repeat(100_000)}]`),
  ),
  'too-large': data('a valid list of more than 6 MiB', ({ sendList }) => sendList(manyBanks())),
  'gzip-bomb': data('1 GiB of JSON in 1 MB of gzip', ({ res }) =>
    send(res, 200, JSON_TYPE, gzipBomb(), { 'content-encoding': 'gzip' }),
  ),
  'brotli-bomb': data('1 GiB of JSON in 0.2 MB of Brotli', ({ req, res }) => {
    brotliBomb().then(
      (bytes) => send(res, 200, JSON_TYPE, bytes, { 'content-encoding': 'br' }),
      () => req.socket.destroy(),
    );
  }),

  // The list has changed.
  empty: data('an empty list', ({ sendList }) => sendList([])),
  few: data('the first three entries', ({ banks, sendList }) => sendList(banks.slice(0, 3))),
  shrunk: data('the first half of the entries', ({ banks, sendList }) =>
    sendList(banks.slice(0, Math.floor(banks.length / 2))),
  ),
  replaced: data('as many other banks', ({ banks, sendList }) => sendList(renumber(banks))),
  'some-unusable': data('about 5 % of the entries are not objects', ({ banks, sendList }) =>
    sendList(replaceWithJunk(banks, (index) => index % 20 === 7)),
  ),
  'most-unusable': data('60 % of the entries are not objects', ({ banks, sendList }) =>
    sendList(replaceWithJunk(banks, (index) => index % 5 < 3)),
  ),
  echo: data('the first bank is called as the Authorization header', ({ req, banks, sendList }) =>
    sendList([{ code: '000', ispb: '99999999', name: req.headers.authorization }, ...banks]),
  ),
  'renamed-field': data('the field name is called bankName', ({ banks, sendList }) =>
    sendList(renameField(banks, 'name', 'bankName')),
  ),
  'retyped-field': data('the field code is a number: 1 instead of "001"', ({ banks, sendList }) =>
    sendList(retypeField(banks, 'code')),
  ),
  'thinned-field': data(
    'the field name is null in 30 % of the entries, missing in 20 %',
    ({ banks, sendList }) => sendList(thinOutField(banks, 'name')),
  ),
  duplicates: data('the first entry 200 times', ({ banks, sendList }) =>
    sendList(repeatFirst(banks, 200)),
  ),
  paginated: data('the first 50 entries, with a Link to the next page', ({ banks, sendList }) =>
    sendList(banks.slice(0, 50), { link: '</api/v1/banks?page=2>; rel="next"' }),
  ),
} satisfies Record<string, ListBehaviour>;

/** The name of a list behaviour. */
export type Behaviour = keyof typeof listBehaviours;

const unchanged = (grant: Grant): Grant => grant;

/** The behaviours of `POST /oauth/token`. */
export const tokenBehaviours = {
  healthy: { description: 'a new token that the list accepts', grant: unchanged, accepted: true },
  'no-expires-in': {
    description: 'the grant has no expires_in',
    grant: ({ access_token, token_type }) => ({ access_token, token_type }),
    accepted: true,
  },
  'string-expires-in': {
    description: 'expires_in is a string',
    grant: (grant) => ({ ...grant, expires_in: String(grant.expires_in ?? 3600) }),
    accepted: true,
  },
  'null-expires-in': {
    description: 'expires_in is null',
    grant: (grant) => ({ ...grant, expires_in: null }),
    accepted: true,
  },
  'bad-expires-in': {
    description: 'expires_in is "PT1H"',
    grant: (grant) => ({ ...grant, expires_in: 'PT1H' }),
    accepted: true,
  },
  'no-type': {
    description: 'the grant has no token_type',
    grant: ({ access_token, expires_in }) => ({ access_token, expires_in }),
    accepted: true,
  },
  'null-type': {
    description: 'token_type is null',
    grant: (grant) => ({ ...grant, token_type: null }),
    accepted: true,
  },
  created: {
    description: 'the grant has status 201',
    grant: unchanged,
    accepted: true,
    status: 201,
  },
  'camel-case': {
    description: 'the token is in accessToken',
    grant: ({ access_token }) => ({ accessToken: access_token, expiresAt: '2030-01-01' }),
    accepted: true,
  },
  'plain-basic': {
    description: 'id and secret of HTTP Basic are not decoded',
    grant: unchanged,
    accepted: true,
    auth: 'basic_plain',
  },
  'post-only': {
    description: 'id and secret must be in the body, without HTTP Basic',
    grant: unchanged,
    accepted: true,
    auth: 'post',
  },
  'json-post-only': {
    description: 'the same, and the body must be JSON; another is answered with 422',
    grant: unchanged,
    accepted: true,
    auth: 'post',
    format: 'json',
    wrongFormatStatus: 422,
  },
  'json-or-415': {
    description: 'the request must be JSON; another is answered with 415',
    grant: unchanged,
    accepted: true,
    format: 'json',
    wrongFormatStatus: 415,
  },
  'lowercase-type': {
    description: 'token_type is "bearer"',
    grant: (grant) => ({ ...grant, token_type: 'bearer' }),
    accepted: true,
  },
  'json-only': {
    description: 'the request must be JSON instead of a form',
    grant: unchanged,
    accepted: true,
    format: 'json',
  },
  'rejected-token': {
    description: 'a token that the list rejects',
    grant: unchanged,
    accepted: false,
  },
  reset: { description: 'the connection is reset before a response', fail: (req) => reset(req) },
  hang: { description: 'the request is accepted and never answered', fail: () => undefined },
  'server-error': {
    description: '500',
    fail: (req, res) => sendFailure(req, res, 500, 'server_error'),
  },
  'invalid-client': {
    description: '401 invalid_client, even with correct credentials',
    fail: (req, res) =>
      sendFailure(req, res, 401, 'invalid_client', {
        'www-authenticate': 'Basic realm="emulator"',
      }),
  },
  'unknown-refusal': {
    description: '401 without an error code',
    fail: (req, res) => sendFailure(req, res, 401, 'BAD_CREDENTIALS'),
  },
  'unsupported-grant': {
    description: '400 unsupported_grant_type',
    fail: (req, res) => sendFailure(req, res, 400, 'unsupported_grant_type'),
  },
  'unauthorized-client': {
    description: '400 unauthorized_client',
    fail: (req, res) => sendFailure(req, res, 400, 'unauthorized_client'),
  },
  'invalid-scope': {
    description: '400 invalid_scope',
    fail: (req, res) => sendFailure(req, res, 400, 'invalid_scope'),
  },
  forbidden: { description: '403', fail: (req, res) => sendFailure(req, res, 403, 'forbidden') },
  'not-found': { description: '404', fail: (req, res) => sendFailure(req, res, 404, 'not_found') },
  'no-content': { description: '204', fail: (_req, res) => res.writeHead(204).end() },
  'error-as-200': {
    description: '200 with the error invalid_client instead of a token',
    fail: (req, res) => sendFailure(req, res, 200, 'invalid_client'),
  },
  redirect: {
    description: '307 to another path',
    fail: (req, res) => sendFailure(req, res, 307, 'moved', { location: '/oauth/moved' }),
  },
  'rate-limited': {
    description: '429 with Retry-After: 30',
    fail: (req, res) => sendFailure(req, res, 429, 'rate_limited', { 'retry-after': '30' }),
  },
  'huge-token': {
    description: 'a token of 40,000 characters',
    grant: (grant) => ({ ...grant, access_token: '!'.repeat(40_000) }),
    accepted: true,
  },
  'many-lists': {
    description: 'a token beside 100 empty lists',
    grant: (grant) => ({ ...grant, scopes: Array.from({ length: 100 }, () => []) }),
    accepted: true,
  },
  'other-type': {
    description: 'token_type is "DPoP"',
    grant: (grant) => ({ ...grant, token_type: 'DPoP' }),
    accepted: true,
  },
  html: {
    description: '200 with an HTML maintenance page',
    fail: (req, res) => sendMaintenancePage(req, res, HTML_TYPE),
  },
} satisfies Record<string, TokenBehaviourRow>;

/** The name of a token endpoint behaviour. */
export type TokenBehaviour = keyof typeof tokenBehaviours;

/** Whether `name` is a list behaviour. */
export function isBehaviour(name: string): name is Behaviour {
  return Object.hasOwn(listBehaviours, name);
}

/** Whether `name` is a token endpoint behaviour. */
export function isTokenBehaviour(name: string): name is TokenBehaviour {
  return Object.hasOwn(tokenBehaviours, name);
}

function retryAfterHeader(details: BehaviourDetails): OutgoingHttpHeaders {
  return details.retryAfter === undefined ? {} : { 'retry-after': details.retryAfter };
}

function reset(req: IncomingMessage): void {
  // Sends a TCP reset instead of closing normally: the client sees ECONNRESET.
  req.socket.resetAndDestroy();
}

function writeHalf(
  res: ServerResponse,
  banks: readonly unknown[],
  after: () => void = () => undefined,
): void {
  const body = Buffer.from(JSON.stringify(banks));
  res.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': body.length });
  res.write(body.subarray(0, Math.floor(body.length / 2)), after);
}
