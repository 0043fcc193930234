import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { createBankList } from '../banks/bank-list.ts';
import type { ServedList } from '../banks/cached-list.ts';
import { LoadError } from '../banks/load-error.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { ProviderAnswer } from '../provider/exchange.ts';
import { createProvider } from '../provider/provider.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { readVersion } from '../version.ts';

// One exchange with the provider, made by the service's own parts: its token, its connection, its contract, its list with
// its deadline and guard. The doctor only observes, so what it sees is what the service would get.

/** What was seen of the contact with one endpoint. Times count from the start of the exchange. */
export interface Contact {
  readonly connection?: {
    readonly address: string | undefined;
    readonly afterMs: number;
    readonly tls: { readonly protocol: string; readonly validUntilMs: number } | undefined;
  };
  /** Why there is no connection: a code such as ECONNREFUSED. */
  readonly connectError?: string;
  /** Why an open connection was lost: a code such as ECONNRESET. */
  readonly lostBy?: string;
  readonly isThroughProxy?: boolean;
  /** The head of the last answer. */
  readonly head?: {
    readonly status: number;
    readonly afterMs: number;
    /** By how much this machine's clock is ahead of the time in the answer's `Date`, if it has one. */
    readonly clockAheadMs: number | undefined;
  };
}

export interface Observation {
  readonly tokenEndpoint: Contact;
  readonly provider: Contact;
  /** When there was a token for the provider; undefined: never. */
  readonly tokenAfterMs?: number;
  /** The last answer, if it arrived whole. */
  readonly answer?: ProviderAnswer;
  /** When it had arrived whole. */
  readonly answeredAfterMs?: number;
  /** Wall-clock milliseconds. */
  readonly observedAtMs: number;
  readonly outcome: ServedList | LoadError;
}

/** Makes the exchange. Never rejects: a failure is the outcome. */
export const observeExchange = async (config: Config, { addSecret }: Redaction): Promise<Observation> => {
  const startedAtMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedAtMs;
  const seen: Writable<Omit<Observation, 'observedAtMs' | 'outcome'>> = { tokenEndpoint: {}, provider: {} };
  const shared = { clock: systemClock, random: Math.random, onEvent: () => undefined };
  const provider = createProvider(config, {
    ...shared,
    version: readVersion(),
    addSecret,
    watchExchange: async (ask) => {
      seen.tokenAfterMs ??= elapsedMs();
      // If a repeated exchange breaks off there is no answer, whatever the first one was.
      delete seen.answer;
      seen.answer = await ask();
      seen.answeredAfterMs = elapsedMs();
      return seen.answer;
    },
  });
  const list = createBankList({
    ...shared,
    load: provider.load,
    takeTurn: undefined,
    loadTimeoutMs: config.provider.timeoutMs,
    policy: config.cache,
    guard: { ...config.guard, fields: config.banks.fields },
  });

  const { baseUrl, token } = config.provider;
  const hosts = [baseUrl.host, ...(token.kind === 'client-credentials' ? [token.url.host] : [])];
  const stopWatching = watchConnections(hosts, elapsedMs, (contact) => {
    // The provider is asked only once there is a token.
    const endpoint = seen.tokenAfterMs === undefined ? 'tokenEndpoint' : 'provider';
    seen[endpoint] = { ...seen[endpoint], ...contact };
  });
  const outcome = await list.arrival().catch((error: unknown) => LoadError.from(error));
  stopWatching();
  list.stop();
  await provider.close();
  return { ...seen, observedAtMs: systemClock.wallMs(), outcome };
};

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Watches undici's diagnostics channels, which report every connection in the process: here, those of these two `hosts`. */
const watchConnections = (
  hosts: readonly string[],
  elapsedMs: () => number,
  onSeen: (contact: Contact) => void,
): (() => void) => {
  const watchers = {
    'undici:proxy:connected': () => onSeen({ isThroughProxy: true }),
    'undici:client:connected': (message: unknown) => {
      // A connection to a proxy is not yet one to the endpoint.
      if (!hosts.includes(String(memberAt(message, 'connectParams', 'host')))) return;
      const socket = memberAt(message, 'socket');
      const address = socket instanceof Socket ? socket.remoteAddress : undefined;
      const tls = socket instanceof TLSSocket ? describeTls(socket) : undefined;
      onSeen({ connection: { address, tls, afterMs: elapsedMs() } });
    },
    'undici:client:connectError': (message: unknown) =>
      onSeen({ connectError: String(memberAt(message, 'error', 'code')) }),
    'undici:request:error': (message: unknown) =>
      onSeen({ lostBy: String(memberAt(message, 'error', 'code')) }),
    'undici:request:headers': (message: unknown) => {
      const status = Number(memberAt(message, 'response', 'statusCode'));
      const clockAheadMs = clockAhead(memberAt(message, 'response', 'headers'));
      onSeen({ head: { status, afterMs: elapsedMs(), clockAheadMs } });
    },
  };
  for (const [channel, watcher] of Object.entries(watchers)) subscribe(channel, watcher);
  return () => {
    for (const [channel, watcher] of Object.entries(watchers)) unsubscribe(channel, watcher);
  };
};

const describeTls = (socket: TLSSocket) => ({
  protocol: socket.getProtocol() ?? 'TLS',
  validUntilMs: Date.parse(socket.getPeerCertificate().valid_to),
});

/** @param headers names and values in turns, as bytes */
const clockAhead = (headers: unknown): number | undefined => {
  const texts = Array.isArray(headers) ? headers.map(String) : [];
  const valueOf = (wanted: string): string | undefined =>
    texts.find((_, index) => index % 2 === 1 && texts[index - 1]?.toLowerCase() === wanted);
  const sentMs = Date.parse(valueOf('date') ?? '');
  // A cache repeats the time of the first answer, and says how old that is (RFC 9111 section 5.1).
  return Number.isNaN(sentMs)
    ? undefined
    : systemClock.wallMs() - sentMs - 1_000 * Number(valueOf('age') ?? 0);
};

/** The member of `value` at this path, if it is there. */
const memberAt = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (object, name) =>
      typeof object === 'object' && object !== null
        ? Object.getOwnPropertyDescriptor(object, name)?.value
        : undefined,
    value,
  );
