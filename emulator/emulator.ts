import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createRequire } from 'node:module';
import { sendFailure } from './answers.ts';
import { listBehaviours } from './behaviours.ts';
import type { Behaviour, BehaviourDetails, ListBehaviour, TokenBehaviour } from './behaviours.ts';
import { createCallRecord, LIST_PATH, TOKEN_PATH } from './calls.ts';
import type { Call, CallRecord } from './calls.ts';
import { answerControl } from './control.ts';
import { createSendList, type SendList } from './list-response.ts';
import { openListener } from './listener.ts';
import { createTokens } from './tokens.ts';
import type { Tokens } from './tokens.ts';

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
  /**
   * Lifetime of issued tokens in seconds; `null`: they never expire and the grant has no
   * expires_in.
   */
  readonly tokenLifetimeSeconds?: number | null;
  /** The encoding of the list for clients that accept it. */
  readonly compress?: 'gzip' | 'br' | undefined;
  /** Called once for each request to the provider, when its response has been sent or cut off. */
  readonly onCallEnd?: (call: Call) => void;
  /** The wall clock, in milliseconds. */
  readonly now?: () => number;
}

/** A running emulator. */
export interface Emulator {
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly controlUrl: string;
  readonly behaviour: Behaviour;
  readonly tokenBehaviour: TokenBehaviour;
  /**
   * Sets the list's behaviour. Resolves when it is in effect, which takes time only for changes to
   * and from `refuse`. Rejects with a RangeError if the details are invalid.
   */
  behave(name: Behaviour, details?: BehaviourDetails): Promise<void>;
  /** Sets the token endpoint's behaviour. */
  behaveToken(name: TokenBehaviour): void;
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
  /** The latest 10,000 requests to the provider, oldest first. */
  readonly calls: readonly Call[];
  /** The number of requests to the provider so far: all of them, for the list, and for a token. */
  allCalls(): number;
  listCalls(): number;
  tokenCalls(): number;
  /** The largest number of requests for the list that were open at the same time. */
  readonly maxConcurrentListCalls: number;
  /** Closes both listeners and destroys all connections. */
  close(): Promise<void>;
}

/** The fixed token that an emulator accepts by default. */
export const DEFAULT_ACCESS_TOKEN = 'emulator-access-token';

/**
 * Starts an emulator. Both listeners are open when the promise resolves; rejects with EADDRINUSE
 * and the like.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { host = '127.0.0.1', now = Date.now } = options;
  const tokens = createTokens({
    clientId: options.clientId ?? 'emulator-client',
    clientSecret: options.clientSecret ?? 'emulator-secret',
    fixedTokens: options.accessTokens ?? [DEFAULT_ACCESS_TOKEN],
    lifetimeSeconds:
      options.tokenLifetimeSeconds === undefined ? 3600 : options.tokenLifetimeSeconds,
    now,
  });
  const calls = createCallRecord(options.onCallEnd);
  const sendList = createSendList(options.compress);
  const state: State = {
    banks: options.banks ?? loadBanks(),
    behaviour: 'healthy',
    details: {},
    tokenBehaviour: 'healthy',
    script: undefined,
    openListCalls: 0,
    maxConcurrentListCalls: 0,
    isClosed: false,
  };

  const providerServer = createServer(createProvider({ state, tokens, calls, sendList }));
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
      return state.behaviour;
    },
    get tokenBehaviour() {
      return state.tokenBehaviour;
    },
    async behave(name, details = {}) {
      checkDetails(details);
      Object.assign(state, { behaviour: name, details });
      await provider.setOpen(name !== 'refuse' && !state.isClosed);
    },
    behaveToken: (name) => void (state.tokenBehaviour = name),
    respondWith: (script) => void (state.script = script),
    setBanks: (banks) => void (state.banks = banks),
    acceptTokens: (fixedTokens) => tokens.acceptFixed(fixedTokens),
    acceptSecrets: (secrets) => tokens.acceptSecrets(secrets),
    revokeIssued: () => tokens.revokeIssued(),
    calls: calls.recent,
    allCalls: () => calls.total(),
    listCalls: () => calls.count(LIST_PATH),
    tokenCalls: () => calls.count(TOKEN_PATH),
    get maxConcurrentListCalls() {
      return state.maxConcurrentListCalls;
    },
    async close() {
      state.isClosed = true;
      await Promise.all([provider.setOpen(false), control.setOpen(false)]);
    },
  };
  return emulator;
}

/** What can change while the emulator runs. */
interface State {
  banks: readonly unknown[];
  behaviour: Behaviour;
  details: BehaviourDetails;
  tokenBehaviour: TokenBehaviour;
  script: Script | undefined;
  openListCalls: number;
  maxConcurrentListCalls: number;
  isClosed: boolean;
}

interface ProviderOptions {
  readonly state: State;
  readonly tokens: Tokens;
  readonly calls: CallRecord;
  readonly sendList: SendList;
}

/** The request handler of the provider's listener. */
function createProvider({ state, tokens, calls, sendList }: ProviderOptions): RequestListener {
  function answerList(req: IncomingMessage, res: ServerResponse): void {
    state.openListCalls += 1;
    state.maxConcurrentListCalls = Math.max(state.maxConcurrentListCalls, state.openListCalls);
    res.once('close', () => {
      state.openListCalls -= 1;
    });

    const row: ListBehaviour = listBehaviours[state.behaviour];
    if (row.needsToken && !tokens.accepts(req.headers.authorization)) {
      return sendFailure(req, res, 401, 'unauthorized', { 'www-authenticate': 'Bearer' });
    }
    if (state.script !== undefined) return state.script(req, res);
    return row.answer({
      req,
      res,
      banks: state.banks,
      details: state.details,
      sendList: (value, headers) => sendList(req, res, value, headers),
    });
  }

  return (req, res) => {
    const { method, path } = calls.add(req, res);
    const allowed = path === LIST_PATH ? 'GET' : path === TOKEN_PATH ? 'POST' : undefined;
    if (allowed === undefined) return sendFailure(req, res, 404, 'not_found');
    if (method !== allowed)
      return sendFailure(req, res, 405, 'method_not_allowed', { allow: allowed });
    if (path === LIST_PATH) return answerList(req, res);
    // Reading the form fails only if the client has disconnected.
    tokens.answer(req, res, state.tokenBehaviour).catch(() => req.socket.destroy());
    return undefined;
  };
}

function loadBanks(): readonly unknown[] {
  // Resolved through package.json, so that the same line works from emulator/ and from
  // dist/emulator/.
  const loaded: unknown = createRequire(import.meta.url)('#emulator-banks.json');
  if (!isList(loaded)) throw new TypeError('emulator/banks.json does not contain a list');
  return loaded;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

const MAX_DELAY_MS = 3_600_000;

function checkDetails({ delayMs = 0, retryAfter = '' }: BehaviourDetails): void {
  if (!(delayMs >= 0 && delayMs <= MAX_DELAY_MS)) {
    throw new RangeError(`delayMs must be a number from 0 to ${MAX_DELAY_MS}`);
  }
  if (!/^[\x20-\x7e]*$/.test(retryAfter)) {
    throw new RangeError('retryAfter must be printable ASCII, like any header value');
  }
}
