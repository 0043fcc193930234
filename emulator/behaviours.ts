import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import {
  INTERNAL_DETAIL,
  reset,
  send,
  sendFailure,
  sendJson,
  sendMaintenancePage,
} from './answers.ts';

// All behaviours of the emulated provider, good and bad: one table for the bank list, one for the
// token endpoint. The types of their names are derived from the tables. Behaviours that send bank
// data require a valid token; behaviours that fail do so with any token or none. A behaviour keeps
// no state.

type Banks = readonly unknown[];

/** One request for the bank list and what is needed to answer it. */
interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly banks: Banks;
  /** For errors; '' for none. */
  readonly retryAfter: string;
}

/** One behaviour of the list. */
export interface ListBehaviour {
  readonly description: string;
  readonly needsToken: boolean;
  readonly answer: (exchange: Exchange) => void;
}

const JSON_TYPE = 'application/json';

const data = (description: string, answer: ListBehaviour['answer']): ListBehaviour => ({
  description,
  needsToken: true,
  answer,
});

/** Sends what `change` makes of the banks. */
const list = (
  description: string,
  change: (banks: Banks) => unknown,
  headers?: OutgoingHttpHeaders,
): ListBehaviour =>
  data(description, ({ res, banks }) => sendJson(res, 200, change(banks), headers));

/** Sends a body as it is. */
const body = (
  description: string,
  content: (banks: Banks) => string | Buffer,
  headers?: OutgoingHttpHeaders,
): ListBehaviour =>
  data(description, ({ res, banks }) => send(res, 200, JSON_TYPE, content(banks), headers));

const failure = (description: string, answer: ListBehaviour['answer']): ListBehaviour => ({
  description,
  needsToken: false,
  answer,
});

const status = (description: string, code: number, error: string): ListBehaviour =>
  failure(description, ({ req, res, retryAfter }) =>
    sendFailure(req, res, code, error, retryAfter ? { 'retry-after': retryAfter } : {}),
  );

/** The behaviours of `GET /api/v1/banks`. */
export const listBehaviours = {
  healthy: list('the bank list', (banks) => banks),

  // The connection fails.
  refuse: failure('connections are refused and open ones destroyed', ({ req }) => reset(req)),
  reset: failure('the connection is reset before a response', ({ req }) => reset(req)),
  hang: failure('the request is accepted and never answered', () => undefined),
  stall: data('headers and half of the list, then nothing more', ({ res, banks }) =>
    writeHalf(res, banks),
  ),
  'cut-short': data('half of the list, then the connection closes', ({ req, res, banks }) =>
    writeHalf(res, banks, () => req.socket.destroy()),
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
    sendMaintenancePage(req, res),
  ),

  // The response body is wrong, or in another shape.
  'wrong-type': list('the bank list as text/plain', (banks) => banks, {
    'content-type': 'text/plain',
  }),
  'not-json': body('incomplete JSON with a matching Content-Length', () => '{"banks": ['),
  'not-utf8': body('the bank list in ISO-8859-1', (banks) =>
    // Other characters become question marks: of theirs, Buffer would keep the low byte only.
    Buffer.from(
      JSON.stringify([...banks, { code: '998', ispb: '99999998', name: 'CRÉDITO é' }]).replaceAll(
        /[\u0100-\uffff]/g,
        '?',
      ),
      'latin1',
    ),
  ),
  envelope: list('the bank list inside {"data": ...}', (banks) => ({ data: banks })),
  'deep-envelope': list('50 banks inside {"data": {"banks": ...}}, beside a total', (banks) => ({
    meta: { total: banks.length, page: 1 },
    data: { banks: banks.slice(0, 50), errors: [] },
  })),
  'nested-envelope': list('codes and names inside objects, in {"data": ...}', (banks) => ({
    data: nest(banks),
  })),
  'large-head': list('the bank list, with 20 KiB of headers', (banks) => banks, {
    'x-padding': 'x'.repeat(20 * 1024),
  }),
  null: list('JSON null', () => null),
  'too-deep': body(
    'a list nested 100,000 levels deep',
    () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  ),
  'too-large': list('a valid list of more than 6 MiB', () => manyBanks()),
  'gzip-bomb': body('64 MiB of JSON in gzip', () => gzipBomb(), { 'content-encoding': 'gzip' }),

  // The list has changed.
  empty: list('an empty list', () => []),
  few: list('the first three entries', (banks) => banks.slice(0, 3)),
  shrunk: list('the first half of the entries', (banks) =>
    banks.slice(0, Math.floor(banks.length / 2)),
  ),
  replaced: list('as many other banks', (banks) =>
    changeEach(banks, (bank, index) => ({ ...bank, ispb: String(90_000_000 + index) })),
  ),
  'some-unusable': list('about 5 % of the entries are not objects', (banks) =>
    banks.map((bank, index) => (index % 20 === 7 ? junk(index) : bank)),
  ),
  'most-unusable': list('60 % of the entries are not objects', (banks) =>
    banks.map((bank, index) => (index % 5 < 3 ? junk(index) : bank)),
  ),
  echo: data('the first bank is called as the Authorization header', ({ req, res, banks }) => {
    const first = { code: '000', ispb: '99999999', name: req.headers.authorization };
    sendJson(res, 200, [first, ...banks]);
  }),
  'renamed-field': list('the field name is called bankName', (banks) =>
    changeEach(banks, (bank) =>
      // In the same place among the others.
      Object.fromEntries(
        Object.entries(bank).map(([key, value]) => [key === 'name' ? 'bankName' : key, value]),
      ),
    ),
  ),
  'retyped-field': list('the field code is a number: 1 instead of "001"', (banks) =>
    changeEach(banks, ({ code, ...bank }) => ({ ...bank, code: code && Number(code) })),
  ),
  'thinned-field': list('the field name is null or missing in half of the entries', (banks) =>
    changeEach(banks, ({ name, ...bank }, index) => {
      if (index % 2 === 0) return { ...bank, name };
      return index % 4 === 1 ? { ...bank, name: null } : bank;
    }),
  ),
  duplicates: list('the first entry 200 times', ([first]) =>
    Array.from({ length: 200 }, () => first),
  ),
  paginated: list(
    'the first 50 entries, with a Link to the next page',
    (banks) => banks.slice(0, 50),
    {
      link: '</api/v1/banks?page=2>; rel="next"',
    },
  ),
} satisfies Record<string, ListBehaviour>;

/** The name of a list behaviour. */
export type Behaviour = keyof typeof listBehaviours;

/** The token endpoint's successful response. */
export interface Grant {
  readonly access_token: string;
  readonly token_type?: string;
  readonly expires_in?: number;
}

/** Makes another grant of a good one. */
export type ChangeGrant = (grant: Grant) => object;

/** One behaviour of the token endpoint: it fails, or it grants a token. */
export interface TokenBehaviourRow {
  readonly description: string;
  readonly fail?: (req: IncomingMessage, res: ServerResponse) => void;
  /** The grant as it is sent. */
  readonly change?: ChangeGrant;
  /** Whether the list rejects the token. */
  readonly isRejected?: boolean;
  /** How the request must be written; a form unless set. */
  readonly format?: 'json';
  /** How the client must authenticate; with HTTP Basic, whose parts are decoded, unless set. */
  readonly auth?: 'basic_plain' | 'post';
  /** Status for a request that is written in the other format; 400 unless set. */
  readonly wrongFormatStatus?: number;
}

const refusal = (
  code: number,
  error: string,
  headers?: OutgoingHttpHeaders,
): TokenBehaviourRow => ({
  description: `${code} ${error}`,
  fail: (req, res) => sendFailure(req, res, code, error, headers),
});

/** The behaviours of `POST /oauth/token`. */
export const tokenBehaviours = {
  healthy: { description: 'a new token that the list accepts' },
  'camel-case': {
    description: 'the token is in accessToken',
    change: ({ access_token }) => ({ accessToken: access_token, expiresAt: '2030-01-01' }),
  },
  'rejected-token': { description: 'a token that the list rejects', isRejected: true },

  // How the request must be made.
  'plain-basic': { description: 'id and secret are not decoded', auth: 'basic_plain' },
  'post-only': { description: 'id and secret must be in the body', auth: 'post' },
  'json-only': { description: 'the request must be JSON instead of a form', format: 'json' },
  'json-post-only': {
    description: 'id and secret must be in a JSON body; a form is answered with 422',
    auth: 'post',
    format: 'json',
    wrongFormatStatus: 422,
  },

  reset: { description: 'the connection is reset before a response', fail: reset },
  hang: { description: 'the request is accepted and never answered', fail: () => undefined },
  'server-error': refusal(500, 'server_error'),
  'invalid-client': refusal(401, 'invalid_client', {
    'www-authenticate': 'Basic realm="emulator"',
  }),
  'unknown-refusal': refusal(401, 'BAD_CREDENTIALS'),
  'unsupported-grant': refusal(400, 'unsupported_grant_type'),
  'unauthorized-client': refusal(400, 'unauthorized_client'),
  'invalid-scope': refusal(400, 'invalid_scope'),
  forbidden: refusal(403, 'forbidden'),
  'not-found': refusal(404, 'not_found'),
  'rate-limited': refusal(429, 'rate_limited', { 'retry-after': '30' }),
  redirect: refusal(307, 'moved', { location: '/oauth/moved' }),
  'no-content': { description: '204', fail: (_req, res) => res.writeHead(204).end() },
  html: { description: '200 with an HTML maintenance page', fail: sendMaintenancePage },
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

function writeHalf(res: ServerResponse, banks: Banks, after: () => void = () => undefined): void {
  const bytes = Buffer.from(JSON.stringify(banks));
  res.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': bytes.length });
  res.write(bytes.subarray(0, Math.floor(bytes.length / 2)), after);
}

/** Entries that are no objects stay as they are. */
function changeEach(
  banks: Banks,
  change: (bank: Record<string, unknown>, index: number) => object,
): unknown[] {
  return banks.map((bank, index) =>
    typeof bank === 'object' && bank !== null ? change({ ...bank }, index) : bank,
  );
}

function nest(banks: Banks): unknown[] {
  return changeEach(banks, ({ code, ispb, name, ...rest }) => ({
    ids: { code, ispb },
    names: { short: name },
    ...rest,
    links: [{ rel: 'self' }],
  }));
}

function junk(index: number): unknown {
  const values = [null, 42, INTERNAL_DETAIL, ['001', 'BCO DO BRASIL S.A.'], true];
  return values[Math.floor(index / 2) % values.length];
}

function manyBanks(): unknown[] {
  return Array.from({ length: 70_000 }, (_, index) => ({
    code: null,
    ispb: String(10_000_000 + index),
    name: `BCO EMULADO ${index}`,
    fullName: `Banco Emulado Número ${index} S.A.`,
  }));
}

let gzipped: Buffer | undefined;
/** An empty list after spaces: decompressed, four times the largest PROVIDER_MAX_BODY. */
function gzipBomb(): Buffer {
  if (!gzipped) {
    const spaces = Buffer.alloc(64 * 1024 * 1024, ' ');
    gzipped = gzipSync(Buffer.concat([spaces, Buffer.from('[]')]), { level: 1 });
  }
  return gzipped;
}
