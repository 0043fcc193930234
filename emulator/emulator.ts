import { createHash } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createRequire } from 'node:module';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { send, sendFailure } from './answers.ts';
import { listBehaviours } from './behaviours.ts';
import type { Behaviour, BehaviourDetails, ListBehaviour, TokenBehaviour } from './behaviours.ts';
import { answerControl } from './control.ts';
import { createTokens } from './tokens.ts';

// The emulator: a banking provider that runs on this machine and answers as it is told to. It owns two
// listeners: the provider, and the control, which stays reachable while the provider refuses connections.
// A behaviour applies to the requests that start after it was set; a request already accepted is answered as
// it began. Nothing outlives close(). It holds made-up credentials only and must never meet real ones.

/** One request that the provider's listener received. */
interface Call {
  readonly method: string;
  readonly path: string;
  /** As they came, Authorization included: this is an emulator and its credentials are made up. */
  readonly headers: IncomingHttpHeaders;
  /** The status of the answer, undefined as long as there is none. */
  readonly status: number | undefined;
}

/** A scripted answer to a request for the list. */
type Script = (req: IncomingMessage, res: ServerResponse) => void;

/** What an emulator can be told at its start; everything has a default. Port 0 means any free one. */
export interface EmulatorOptions {
  readonly host?: string;
  readonly port?: number;
  readonly controlPort?: number;
  readonly banks?: readonly unknown[];
  /** Fixed access tokens that the list accepts beside the issued ones. */
  readonly accessTokens?: readonly string[];
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** How long an issued token lasts; `null`: for ever, and the grant has no expires_in. */
  readonly tokenLifetimeSeconds?: number | null;
  /** The coding of the list for a client that accepts it. */
  readonly compress?: 'gzip' | 'br' | undefined;
  /** Whether the list has an ETag and a Last-Modified and answers conditional requests. */
  readonly validators?: boolean;
  readonly now?: () => number;
}

/** A running emulator. */
export interface Emulator {
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly controlUrl: string;
  readonly behaviour: Behaviour;
  readonly tokenBehaviour: TokenBehaviour;
  /** Sets the list's behaviour; resolves when it is in force, which only `refuse` makes a matter of time. */
  behave(name: Behaviour, details?: BehaviourDetails): Promise<void>;
  /** Sets the token endpoint's behaviour. */
  behaveToken(name: TokenBehaviour): void;
  /** Lets a script answer for the list instead of the behaviour; undefined ends that. */
  respondWith(script: Script | undefined): void;
  /** Replaces the banks. */
  setBanks(banks: readonly unknown[]): void;
  /** Switches ETag, Last-Modified and conditional requests on or off. */
  setValidators(on: boolean): void;
  /** Replaces the accepted fixed tokens; issued ones stay good. */
  acceptTokens(tokens: readonly string[]): void;
  /** Makes every token issued so far bad. */
  revokeIssued(): void;
  /** Every request to the provider so far, oldest first. */
  readonly calls: readonly Call[];
  listCalls(): number;
  tokenCalls(): number;
  /** The most requests for the list that were open at one time. */
  readonly maxConcurrentListCalls: number;
  /** Closes both listeners and destroys every connection. */
  close(): Promise<void>;
}

const LIST_PATH = '/api/v1/banks';
const TOKEN_PATH = '/oauth/token';
const LONGEST_DELAY_MS = 3_600_000;

/** The fixed token an emulator accepts unless told otherwise. */
export const DEFAULT_ACCESS_TOKEN = 'emulator-access-token';

/** Starts an emulator; it listens on both ports when the promise resolves. */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { host = '127.0.0.1', port = 0, controlPort = 0, compress, now = Date.now } = options;
  const tokens = createTokens({
    clientId: options.clientId ?? 'emulator-client',
    clientSecret: options.clientSecret ?? 'emulator-secret',
    fixedTokens: options.accessTokens ?? [DEFAULT_ACCESS_TOKEN],
    lifetimeSeconds: options.tokenLifetimeSeconds === undefined ? 3600 : options.tokenLifetimeSeconds,
    now,
  });

  let banks = options.banks ?? loadBanks();
  let validators = options.validators ?? false;
  let behaviour: Behaviour = 'healthy';
  let details: BehaviourDetails = {};
  let tokenBehaviour: TokenBehaviour = 'healthy';
  let script: Script | undefined;
  let closed = false;
  const calls: Call[] = [];
  let openListCalls = 0;
  let maxConcurrentListCalls = 0;

  // HTTP dates count whole seconds, so each new version of the list is dated one second after the one before,
  // starting an hour ago: two changes within a second still differ, and no date lies in the future.
  let versionTag = '';
  let versionTime = Math.floor(now() / 1000) * 1000 - 3_600_000;

  function validate(body: Buffer): { etag: string; 'last-modified': string } {
    // Weak, because the same list may go out in different codings.
    const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    if (etag !== versionTag) {
      versionTag = etag;
      versionTime += 1000;
    }
    return { etag, 'last-modified': new Date(versionTime).toUTCString() };
  }

  function sendList(req: IncomingMessage, res: ServerResponse, value: unknown, contentType: string): void {
    const body = Buffer.from(JSON.stringify(value));
    const headers: OutgoingHttpHeaders = compress === undefined ? {} : { vary: 'Accept-Encoding' };
    if (validators) {
      const current = validate(body);
      Object.assign(headers, current);
      if (isUnchanged(req.headers, current.etag, versionTime)) {
        res.writeHead(304, headers).end();
        return;
      }
    }
    if (compress === undefined || !accepts(req.headers['accept-encoding'], compress)) {
      return send(res, 200, contentType, body, headers);
    }
    const packed = compress === 'gzip' ? gzipSync(body) : brotliCompressSync(body);
    return send(res, 200, contentType, packed, { ...headers, 'content-encoding': compress });
  }

  function answerList(req: IncomingMessage, res: ServerResponse): void {
    openListCalls += 1;
    maxConcurrentListCalls = Math.max(maxConcurrentListCalls, openListCalls);
    res.once('close', () => {
      openListCalls -= 1;
    });

    const row: ListBehaviour = listBehaviours[behaviour];
    if (row.needsToken && !tokens.accepts(req.headers.authorization)) {
      return sendFailure(req, res, 401, 'unauthorized', { 'www-authenticate': 'Bearer' });
    }
    if (script !== undefined) return script(req, res);
    return row.answer({
      req,
      res,
      banks,
      details,
      sendList: (value, contentType = 'application/json') => sendList(req, res, value, contentType),
    });
  }

  function answerProvider(req: IncomingMessage, res: ServerResponse): void {
    const call = recordCall(req, res);
    calls.push(call);
    const method = call.path === LIST_PATH ? 'GET' : call.path === TOKEN_PATH ? 'POST' : undefined;
    if (method === undefined) return sendFailure(req, res, 404, 'not_found');
    if (call.method !== method) return sendFailure(req, res, 405, 'method_not_allowed', { allow: method });
    if (call.path === LIST_PATH) return answerList(req, res);
    // Reading the form fails only if the client went away; there is nobody left to tell.
    tokens.answer(req, res, tokenBehaviour).catch(() => req.socket.destroy());
    return undefined;
  }

  const provider = createServer(answerProvider);
  const control = createServer((req, res) => {
    answerControl(emulator, req, res).catch(() => req.socket.destroy());
  });

  const providerPort = await listen(provider, host, port);
  const controlUrl = await listen(control, host, controlPort).then(
    (chosen) => origin(host, chosen),
    async (error: unknown) => {
      await stop(provider);
      throw error;
    },
  );
  const baseUrl = origin(host, providerPort);

  // Opening and closing the provider's listener takes time, so the changes queue up; each one looks at what is
  // wanted when its turn comes, and a failed one does not stop the next.
  let switching: Promise<void> = Promise.resolve();
  function switchListener(): Promise<void> {
    switching = switching.then(matchListener, matchListener);
    return switching;
  }
  async function matchListener(): Promise<void> {
    const wanted = !closed && behaviour !== 'refuse';
    if (wanted === provider.listening) return;
    if (wanted) await listen(provider, host, providerPort);
    else await stop(provider);
  }

  const emulator: Emulator = {
    baseUrl,
    tokenUrl: `${baseUrl}${TOKEN_PATH}`,
    controlUrl,
    get behaviour() {
      return behaviour;
    },
    get tokenBehaviour() {
      return tokenBehaviour;
    },
    async behave(name, given = {}) {
      checkDetails(given);
      behaviour = name;
      details = given;
      await switchListener();
    },
    behaveToken(name) {
      tokenBehaviour = name;
    },
    respondWith(given) {
      script = given;
    },
    setBanks(given) {
      banks = given;
    },
    setValidators(on) {
      validators = on;
    },
    acceptTokens: (given) => tokens.acceptFixed(given),
    revokeIssued: () => tokens.revokeIssued(),
    calls,
    listCalls: () => calls.filter(({ path }) => path === LIST_PATH).length,
    tokenCalls: () => calls.filter(({ path }) => path === TOKEN_PATH).length,
    get maxConcurrentListCalls() {
      return maxConcurrentListCalls;
    },
    async close() {
      closed = true;
      await Promise.all([switchListener(), stop(control)]);
    },
  };
  return emulator;
}

function loadBanks(): readonly unknown[] {
  // Through package.json, so that the same line works from emulator/ and from dist/emulator/.
  const loaded: unknown = createRequire(import.meta.url)('#emulator-banks.json');
  if (!isList(loaded)) throw new TypeError('emulator/banks.json is not a list');
  return loaded;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function checkDetails({ delayMs = 0, retryAfter = '' }: BehaviourDetails): void {
  if (!(delayMs >= 0 && delayMs <= LONGEST_DELAY_MS)) {
    throw new RangeError(`delayMs must be a number from 0 to ${LONGEST_DELAY_MS}`);
  }
  if (!/^[\x20-\x7e]*$/.test(retryAfter)) {
    throw new RangeError('retryAfter must be printable ASCII, as a header is');
  }
}

function recordCall(req: IncomingMessage, res: ServerResponse): Call {
  let open: ServerResponse | undefined = res;
  let last: number | undefined;
  const status = (): number | undefined => (open?.headersSent ? open.statusCode : last);
  // The status is known as soon as it is sent; afterwards the response is let go, or every call would keep one.
  res.once('close', () => {
    last = status();
    open = undefined;
  });
  return {
    method: req.method ?? '',
    path: (req.url ?? '').split('?', 1)[0] ?? '',
    headers: req.headers,
    get status() {
      return status();
    },
  };
}

function isUnchanged(headers: IncomingHttpHeaders, etag: string, modified: number): boolean {
  const noneMatch = headers['if-none-match'];
  if (noneMatch !== undefined) {
    // Compared weakly, and decisive: If-Modified-Since is not even looked at (RFC 9110, 13.1.2 and 13.1.3).
    return noneMatch.trim() === '*' || noneMatch.split(',').map(opaqueTag).includes(opaqueTag(etag));
  }
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return since >= modified;
}

function opaqueTag(etag: string): string {
  return etag.trim().replace(/^W\//, '');
}

function accepts(acceptEncoding: string | string[] | undefined, coding: string): boolean {
  return String(acceptEncoding ?? '')
    .toLowerCase()
    .split(',')
    .some((item) => {
      const [name, ...parameters] = item.split(';').map((part) => part.trim());
      return (name === coding || name === '*') && !parameters.some((part) => /^q=0(\.0*)?$/.test(part));
    });
}

function origin(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    // Without this the promise would wait for every hanging connection.
    server.closeAllConnections();
  });
}
