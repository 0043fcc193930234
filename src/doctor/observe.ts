import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { TLSSocket } from 'node:tls';
import type { DiagnosticsChannel } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createCore } from '../core.ts';
import type { LoadStep } from '../failure-kinds.ts';
import type { Peer } from '../provider/errors.ts';
import type { ExchangeResponse } from '../provider/exchange.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { readVersion } from '../version.ts';

// One load from the provider, made by the service's own core: its token, its connection, its
// contract, its list with its deadline and guard. The doctor only observes, so what it sees is what
// the service would get.

/**
 * What was seen of the last request to one endpoint. Times count from the start of the load.
 */
export interface Contact {
  connection?: {
    readonly address: string | undefined;
    readonly isThroughProxy: boolean;
    readonly afterMs: number;
    /** `daysLeft`: how long its certificate is still valid. */
    readonly tls: { readonly protocol: string; readonly daysLeft: number } | undefined;
  };
  head?: {
    readonly status: number;
    readonly afterMs: number;
    /**
     * By how much this machine's clock is ahead of the time in the response's `Date`, if it and
     * `Age` can be read.
     */
    readonly clockAheadMs: number | undefined;
  };
}

export type Observation = Awaited<ReturnType<typeof observeLoad>>;

/** The steps that were seen to be passed. */
export const stepsSeen = ({ contacts, response }: Observation): readonly LoadStep[] => {
  const contact = contacts['the provider'];
  // The provider is asked only once there is a token.
  if (!contact) return [];
  if (!contact.connection) return ['token'];
  if (!contact.head) return ['token', 'address', 'TLS'];
  return ['token', 'address', 'TLS', 'status', ...(response ? (['content'] as const) : [])];
};

/** Makes the load. Never rejects: a failure is the outcome. */
export const observeLoad = async (config: Config, { addSecret, findEcho }: Redaction) => {
  const startedAtMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedAtMs;
  /** Without an endpoint that was not asked: the provider is asked only once there is a token. */
  const contacts: Partial<Record<Peer, Contact>> = {};
  /** The last response, if it arrived whole. */
  let response: ExchangeResponse | undefined;
  /** When the last request had ended. */
  let endedAfterMs = 0;
  // The stores are tried by themselves.
  const cache = { ...config.cache, snapshotFile: undefined, redisUrl: undefined };
  const core = createCore(
    { ...config, cache },
    {
      version: readVersion(),
      clock: systemClock,
      random: Math.random,
      addSecret,
      findEcho,
      emit: (event) => {
        if (event.type !== 'provider-called') return;
        // If a repeated request breaks off there is no response, whatever the first one was.
        ({ response } = event);
        endedAfterMs = elapsedMs();
      },
    },
  );
  // Unlike a request, which ends its wait after PROVIDER_TIMEOUT, it includes the time that this
  // machine needs to encode the list.
  const stopWatching = watchRequests(config, contacts, elapsedMs);
  const failure = await core.list.refresh();
  stopWatching();
  const outcome = failure ?? core.list.served() ?? new LoadError('internal', 'no list was taken');
  await core.stop();
  const tokenVariable = core.tokenVariable;
  return { contacts, response, endedAfterMs, outcome, tokenVariable };
};

/**
 * Fills `contacts` in as the requests of the load proceed. undici publishes what it does for the
 * whole process: only requests to the configured origins count.
 * @returns a function that ends this
 */
const watchRequests = (
  { provider }: Config,
  contacts: Partial<Record<Peer, Contact>>,
  elapsedMs: () => number,
): (() => void) => {
  const { token, baseUrl } = provider;
  let isThroughProxy = false;
  /** A token is requested with POST, the list with GET. */
  const peerOf = ({ method, origin }: DiagnosticsChannel.Request): Peer | undefined => {
    if (method === 'GET' && String(origin) === baseUrl.origin) return 'the provider';
    const isGrant = token.kind === 'client-credentials' && method === 'POST';
    return isGrant && String(origin) === token.endpoint.url.origin
      ? 'the token endpoint'
      : undefined;
  };
  const channels: Readonly<Record<string, (message: never) => void>> = {
    'undici:request:create': ({ request }: DiagnosticsChannel.RequestCreateMessage) => {
      if (request.method === 'CONNECT') isThroughProxy = true;
      const peer = peerOf(request);
      if (!peer) return;
      contacts[peer] = {};
      isThroughProxy = false;
    },
    'undici:client:sendHeaders': ({
      request,
      socket,
    }: DiagnosticsChannel.ClientSendHeadersMessage) => {
      const contact = contacts[peerOf(request) ?? 'the provider'];
      if (!peerOf(request) || !contact) return;
      contact.connection = {
        address: socket.remoteAddress,
        isThroughProxy,
        tls: socket instanceof TLSSocket ? describeTls(socket) : undefined,
        afterMs: elapsedMs(),
      };
    },
    'undici:request:headers': ({ request, response }: DiagnosticsChannel.RequestHeadersMessage) => {
      const contact = contacts[peerOf(request) ?? 'the provider'];
      if (!peerOf(request) || !contact || response.statusCode < 200) return;
      const clockAheadMs = clockAhead(response.headers.map(String));
      contact.head = { status: response.statusCode, afterMs: elapsedMs(), clockAheadMs };
    },
  };
  const listeners = Object.entries(channels).map(
    ([name, listen]) =>
      [
        name,
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as undici documents it
        (message: unknown): void => listen(message as never),
      ] as const,
  );
  for (const [name, listen] of listeners) subscribe(name, listen);
  return () => {
    for (const [name, listen] of listeners) unsubscribe(name, listen);
  };
};

const describeTls = (socket: TLSSocket) => {
  const leftMs = Date.parse(socket.getPeerCertificate().valid_to) - systemClock.wallMs();
  return { protocol: socket.getProtocol() ?? 'TLS', daysLeft: Math.floor(leftMs / 86_400_000) };
};

/** @param headers names and values in turn, as they were sent */
const clockAhead = (headers: readonly string[]): number | undefined => {
  const valueOf = (name: string): string | undefined =>
    headers.find((_, index) => index % 2 === 1 && headers[index - 1]?.toLowerCase() === name);
  const sentMs = Date.parse(valueOf('date') ?? '');
  // A cache repeats the time of the first response, and says how old that is (RFC 9111 section
  // 5.1).
  const ageMs = 1_000 * (Number(valueOf('age') ?? 0) || 0);
  const aheadMs = systemClock.wallMs() - sentMs - ageMs;
  return Number.isFinite(aheadMs) ? aheadMs : undefined;
};
