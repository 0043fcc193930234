import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createRequire } from 'node:module';
import { sendFailure } from './answers.ts';
import { listBehaviours } from './behaviours.ts';
import type { Behaviour, ChangeGrant, ListBehaviour, TokenBehaviour } from './behaviours.ts';
import { answerControl, type Controlled } from './control.ts';
import { openListener } from './listener.ts';
import { createTokens } from './tokens.ts';

// The emulator: a banking provider on this machine whose behaviour can be changed while it runs. It
// has two listeners: the provider itself and the control API, which stays reachable while the
// provider refuses connections. A new behaviour applies to requests that start after the change;
// requests in progress finish under the old one. Use it with made-up credentials only.

/** Answers a request for the list in place of the current behaviour. */
type Script = (req: IncomingMessage, res: ServerResponse) => void;

/** Options of an emulator; all have defaults. Port 0 picks a free port. */
export interface EmulatorOptions {
  readonly host?: string;
  readonly port?: number;
  readonly controlPort?: number;
  readonly banks?: readonly unknown[];
  /** Fixed access tokens that the list accepts in addition to issued ones. */
  readonly accessTokens?: readonly string[];
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** Lifetime of issued tokens. */
  readonly tokenLifetimeSeconds?: number;
  /** Called once for each request to the provider, when its response has been sent or cut off. */
  readonly onCallEnd?: (call: Call) => void;
  /** The wall clock, in milliseconds. */
  readonly now?: () => number;
}

/** One request to the provider. The emulator only ever sees made-up credentials. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The response status; undefined until it is sent, and if it never is. */
  readonly status: number | undefined;
}

/** A running emulator. */
export interface Emulator extends Controlled {
  /** Makes a script answer for the list instead of the behaviour; undefined removes it. */
  respondWith(script: Script | undefined): void;
  /** Replaces the banks. */
  setBanks(banks: readonly unknown[]): void;
  /** Replaces the accepted fixed tokens; issued tokens stay valid. */
  acceptTokens(tokens: readonly string[]): void;
  /** Replaces the accepted client secrets; issued tokens stay valid. */
  acceptSecrets(secrets: readonly string[]): void;
  /** Invalidates all tokens issued so far. */
  revokeIssued(): void;
  /** The latest 1,000 requests to the provider, oldest first. */
  readonly calls: readonly Call[];
  /** Closes both listeners and destroys all connections. */
  close(): Promise<void>;
}

/** The fixed token that an emulator accepts by default. */
export const DEFAULT_ACCESS_TOKEN = 'emulator-access-token';

const LIST_PATH = '/api/v1/banks';
const TOKEN_PATH = '/oauth/token';
const MAX_RECENT_CALLS = 1_000;

/**
 * Starts an emulator. Both listeners are open when the promise resolves; rejects with EADDRINUSE
 * and the like.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { host = '127.0.0.1', tokenLifetimeSeconds = 3600, now = Date.now } = options;
  const tokens = createTokens({
    clientId: options.clientId ?? 'emulator-client',
    clientSecret: options.clientSecret ?? 'emulator-secret',
    fixedTokens: options.accessTokens ?? [DEFAULT_ACCESS_TOKEN],
    lifetimeSeconds: tokenLifetimeSeconds,
    now,
  });
  let banks = options.banks ?? loadBanks();
  let behaviour: Behaviour = 'healthy';
  let retryAfter = '';
  let tokenBehaviour: TokenBehaviour = 'healthy';
  let changeGrant: ChangeGrant = (grant) => grant;
  let script: Script | undefined;
  let isClosed = false;
  const calls: Call[] = [];
  const counts = { list: 0, token: 0 };

  function record(req: IncomingMessage, res: ServerResponse): Call {
    const call: Call = {
      method: req.method ?? '',
      path: (req.url ?? '').split('?', 1)[0] ?? '',
      headers: req.headers,
      get status() {
        return res.headersSent ? res.statusCode : undefined;
      },
    };
    calls.push(call);
    if (calls.length > MAX_RECENT_CALLS) calls.shift();
    if (call.path === LIST_PATH) counts.list += 1;
    if (call.path === TOKEN_PATH) counts.token += 1;
    res.once('close', () => options.onCallEnd?.(call));
    return call;
  }

  function answerList(req: IncomingMessage, res: ServerResponse): void {
    const row: ListBehaviour = listBehaviours[behaviour];
    if (row.needsToken && !tokens.accepts(req.headers.authorization))
      return sendFailure(req, res, 401, 'unauthorized', { 'www-authenticate': 'Bearer' });
    if (script !== undefined) return script(req, res);
    return row.answer({ req, res, banks, retryAfter });
  }

  const providerServer = createServer((req, res) => {
    const { method, path } = record(req, res);
    const allow = path === LIST_PATH ? 'GET' : path === TOKEN_PATH ? 'POST' : undefined;
    if (allow === undefined) return sendFailure(req, res, 404, 'not_found');
    if (method !== allow) return sendFailure(req, res, 405, 'method_not_allowed', { allow });
    if (path === LIST_PATH) return answerList(req, res);
    // Reading the form fails only if the client has disconnected.
    tokens.answer(req, res, tokenBehaviour, changeGrant).catch(() => req.socket.destroy());
    return undefined;
  });
  const controlServer = createServer((req, res) => {
    answerControl(emulator, req, res).catch(() => req.socket.destroy());
  });
  const provider = await openListener(providerServer, host, options.port ?? 0);
  const control = await openListener(controlServer, host, options.controlPort ?? 0).catch(
    async (error: unknown) => {
      await provider.setOpen(false);
      throw error;
    },
  );

  const emulator: Emulator = {
    baseUrl: provider.origin,
    tokenUrl: `${provider.origin}${TOKEN_PATH}`,
    controlUrl: control.origin,
    get behaviour() {
      return behaviour;
    },
    get tokenBehaviour() {
      return tokenBehaviour;
    },
    async behave(name, given = '') {
      behaviour = name;
      retryAfter = given;
      await provider.setOpen(name !== 'refuse' && !isClosed);
    },
    behaveToken: (name, change = (grant) => grant) => {
      tokenBehaviour = name;
      changeGrant = change;
    },
    respondWith: (answer) => void (script = answer),
    setBanks: (list) => void (banks = list),
    acceptTokens: tokens.acceptFixed,
    acceptSecrets: tokens.acceptSecrets,
    revokeIssued: tokens.revokeIssued,
    calls,
    listCalls: () => counts.list,
    tokenCalls: () => counts.token,
    async close() {
      isClosed = true;
      await Promise.all([provider.setOpen(false), control.setOpen(false)]);
    },
  };
  return emulator;
}

function loadBanks(): readonly unknown[] {
  // Resolved through package.json, so that the same line works from emulator/ and from
  // dist/emulator/.
  return createRequire(import.meta.url)('#emulator-banks.json');
}
