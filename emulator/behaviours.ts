import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { brotliBomb, gzipBomb, INTERNAL_DETAIL, send, sendFailure, sendMaintenancePage } from './answers.ts';

// Every way the emulated provider can answer, well or badly: one table for the bank list, one for the token
// endpoint. A name exists exactly if it is in its table, and the types are derived from the tables. What sends
// bank data asks for a valid token first; a failure fails whoever asks. Nothing here remembers anything.

/** What a behaviour may be told: `retryAfter` is sent as it stands, `delayMs` is for `slow`. */
export interface BehaviourDetails {
  readonly retryAfter?: string | undefined;
  readonly delayMs?: number | undefined;
}

/** One request for the bank list and the means to answer it. */
interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly banks: readonly unknown[];
  readonly details: BehaviourDetails;
  /** Sends a value as the provider sends its list: 200, compressed and validated as the emulator was told. */
  readonly sendList: (value: unknown, contentType?: string) => void;
}

/** A row of the list's table. */
export interface ListBehaviour {
  readonly description: string;
  readonly needsToken: boolean;
  readonly answer: (exchange: Exchange) => void;
}

/** What the token endpoint grants. */
export interface Grant {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in?: number | string;
}

/** A row of the token endpoint's table: it fails, or it grants a token, which the list accepts or does not. */
export type TokenBehaviourRow =
  | { readonly description: string; readonly fail: (req: IncomingMessage, res: ServerResponse) => void }
  | { readonly description: string; readonly grant: (grant: Grant) => Grant; readonly accepted: boolean };

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
  failure(description, ({ req, res, details }) => sendFailure(req, res, code, error, retryAfter(details)));

/** The behaviours of `GET /api/v1/banks`. */
export const listBehaviours = {
  healthy: data('the bank list', ({ banks, sendList }) => sendList(banks)),
  slow: data('the bank list, after delayMs (1000 unless told)', ({ banks, details, res, sendList }) => {
    const timer = setTimeout(() => sendList(banks), details.delayMs ?? 1000);
    res.once('close', () => clearTimeout(timer));
  }),

  // The connection fails.
  refuse: failure('nothing listens: connections are refused, open ones are destroyed', ({ req }) => cut(req)),
  reset: failure('the connection is reset before an answer', ({ req }) => cut(req)),
  hang: failure('the request is accepted and never answered', () => undefined),
  stall: data('headers and half of the list, then nothing', ({ res, banks }) => writeHalf(res, banks)),
  'cut-short': data('half of the announced length, then the connection ends', ({ req, res, banks }) =>
    writeHalf(res, banks, () => req.socket.destroy()),
  ),
  drip: data('headers, then a space every 20 ms, for ever', ({ res }) => {
    res.writeHead(200, { 'content-type': JSON_TYPE });
    res.flushHeaders();
    const timer = setInterval(() => res.write(' '), 20);
    res.once('close', () => clearInterval(timer));
  }),

  // The provider says that it fails.
  'bad-request': status('400', 400, 'bad_request'),
  unauthorized: status('401, even with a valid token', 401, 'unauthorized'),
  forbidden: status('403', 403, 'forbidden'),
  'not-found': status('404', 404, 'not_found'),
  'rate-limited': status('429, with Retry-After if given', 429, 'rate_limited'),
  'server-error': status('500', 500, 'server_error'),
  unavailable: status('503, with Retry-After if given', 503, 'unavailable'),
  redirect: failure('302 to another origin, where nothing listens', ({ req, res }) =>
    sendFailure(req, res, 302, 'moved', { location: 'http://127.0.0.1:9/' }),
  ),
  'no-content': failure('204', ({ res }) => res.writeHead(204).end()),
  html: failure('200 with an HTML maintenance page', ({ req, res }) =>
    sendMaintenancePage(req, res, HTML_TYPE),
  ),
  'html-as-json': failure('the maintenance page, labelled application/json', ({ req, res }) =>
    sendMaintenancePage(req, res, JSON_TYPE),
  ),

  // The body is not what it should be.
  'wrong-type': data('the bank list, labelled text/plain', ({ banks, sendList }) =>
    sendList(banks, 'text/plain'),
  ),
  'not-json': data('JSON that ends too early, with the right length', ({ res }) =>
    send(res, 200, JSON_TYPE, '{"banks": ['),
  ),
  'not-utf8': data('the bank list in ISO-8859-1', ({ res, banks }) =>
    send(res, 200, JSON_TYPE, latin1([...banks, { code: '998', ispb: '99999998', name: 'CRÉDITO é' }])),
  ),
  envelope: data('the bank list inside {"data": ...}', ({ banks, sendList }) => sendList({ data: banks })),
  null: data('the JSON null', ({ sendList }) => sendList(null)),
  'too-deep': data('a list holding 100,000 nested lists', ({ res }) =>
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

  // The list is not what it was.
  empty: data('an empty list', ({ sendList }) => sendList([])),
  few: data('the first three entries', ({ banks, sendList }) => sendList(banks.slice(0, 3))),
  shrunk: data('the first half of the entries', ({ banks, sendList }) =>
    sendList(banks.slice(0, Math.floor(banks.length / 2))),
  ),
  'some-unusable': data('about 5 % of the entries are no objects', ({ banks, sendList }) =>
    sendList(spoil(banks, (index) => index % 20 === 7)),
  ),
  'most-unusable': data('60 % of the entries are no objects', ({ banks, sendList }) =>
    sendList(spoil(banks, (index) => index % 5 < 3)),
  ),
} satisfies Record<string, ListBehaviour>;

/** The name of a behaviour of the list. */
export type Behaviour = keyof typeof listBehaviours;

const unchanged = (grant: Grant): Grant => grant;

/** The behaviours of `POST /oauth/token`. */
export const tokenBehaviours = {
  healthy: { description: 'a fresh token that the list accepts', grant: unchanged, accepted: true },
  'no-expires-in': {
    description: 'the grant does not say how long it lasts',
    grant: ({ access_token, token_type }) => ({ access_token, token_type }),
    accepted: true,
  },
  'string-expires-in': {
    description: 'expires_in is a string',
    grant: (grant) => ({ ...grant, expires_in: String(grant.expires_in ?? 3600) }),
    accepted: true,
  },
  'lowercase-type': {
    description: 'token_type is "bearer"',
    grant: (grant) => ({ ...grant, token_type: 'bearer' }),
    accepted: true,
  },
  'rejected-token': { description: 'a token that the list refuses', grant: unchanged, accepted: false },
  reset: { description: 'the connection is reset before an answer', fail: (req) => cut(req) },
  hang: { description: 'the request is accepted and never answered', fail: () => undefined },
  'server-error': { description: '500', fail: (req, res) => sendFailure(req, res, 500, 'server_error') },
  'invalid-client': {
    description: '401 invalid_client, even with the right credentials',
    fail: (req, res) =>
      sendFailure(req, res, 401, 'invalid_client', { 'www-authenticate': 'Basic realm="emulator"' }),
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

/** The name of a behaviour of the token endpoint. */
export type TokenBehaviour = keyof typeof tokenBehaviours;

/** Whether the list has a behaviour of this name. */
export function isBehaviour(name: string): name is Behaviour {
  return Object.hasOwn(listBehaviours, name);
}

/** Whether the token endpoint has a behaviour of this name. */
export function isTokenBehaviour(name: string): name is TokenBehaviour {
  return Object.hasOwn(tokenBehaviours, name);
}

function retryAfter(details: BehaviourDetails): OutgoingHttpHeaders {
  return details.retryAfter === undefined ? {} : { 'retry-after': details.retryAfter };
}

function cut(req: IncomingMessage): void {
  // A reset, not a polite end: the client sees ECONNRESET.
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

function latin1(value: unknown): Buffer {
  // What ISO-8859-1 lacks becomes a question mark; cut to its low byte it could become a quotation mark.
  return Buffer.from(JSON.stringify(value).replaceAll(/[\u0100-\uffff]/g, '?'), 'latin1');
}

function manyBanks(): unknown[] {
  return Array.from({ length: 70_000 }, (_, index) => ({
    code: null,
    ispb: String(10_000_000 + index),
    name: `BCO EMULADO ${index}`,
    fullName: `Banco Emulado Número ${index} S.A.`,
  }));
}

function spoil(banks: readonly unknown[], isSpoilt: (index: number) => boolean): unknown[] {
  const junk: readonly unknown[] = [null, 42, INTERNAL_DETAIL, ['001', 'BCO DO BRASIL S.A.'], true];
  return banks.map((bank, index) => (isSpoilt(index) ? junk[Math.floor(index / 2) % junk.length] : bank));
}
