import { TLSSocket } from 'node:tls';
import type { Dispatcher } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createCore } from '../core.ts';
import type { LoadStep } from '../failure-kinds.ts';
import type { Peer } from '../provider/connection-errors.ts';
import {
  createConnections,
  type Connections,
  type ConnectionsOptions,
} from '../provider/connections.ts';
import { headerOf, type ProviderResponse } from '../provider/provider-response.ts';
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
  let response: ProviderResponse | undefined;
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
      createConnections: (options) => createWatchedConnections(options, contacts, elapsedMs),
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
  const failure = await core.list.refresh();
  const outcome = failure ?? core.list.served() ?? new LoadError('internal', 'no list was taken');
  await core.stop();
  const tokenVariable = core.tokenVariable;
  return { contacts, response, endedAfterMs, outcome, tokenVariable };
};

/**
 * The service's connections. Each request has a new contact, which is filled in as the request
 * proceeds.
 */
const createWatchedConnections = (
  options: ConnectionsOptions,
  contacts: Partial<Record<Peer, Contact>>,
  elapsedMs: () => number,
): Connections => {
  let contact: Contact = {};
  const connections = createConnections({
    ...options,
    onConnected: (socket, isThroughProxy) => {
      const tls = socket instanceof TLSSocket ? describeTls(socket) : undefined;
      contact.connection = {
        address: socket.remoteAddress,
        isThroughProxy,
        tls,
        afterMs: elapsedMs(),
      };
    },
  });
  return {
    ...connections,
    request: (request, read) => {
      contact = {};
      contacts[options.peer] = contact;
      return connections.request(request, (response) => {
        const clockAheadMs = clockAhead(response);
        contact.head = { status: response.statusCode, afterMs: elapsedMs(), clockAheadMs };
        return read(response);
      });
    },
  };
};

const describeTls = (socket: TLSSocket) => {
  const leftMs = Date.parse(socket.getPeerCertificate().valid_to) - systemClock.wallMs();
  return { protocol: socket.getProtocol() ?? 'TLS', daysLeft: Math.floor(leftMs / 86_400_000) };
};

const clockAhead = (response: Dispatcher.ResponseData): number | undefined => {
  const sentMs = Date.parse(headerOf(response, 'date') ?? '');
  // A cache repeats the time of the first response, and says how old that is (RFC 9111 section
  // 5.1).
  const ageMs = 1_000 * Number(headerOf(response, 'age') ?? 0);
  const aheadMs = systemClock.wallMs() - sentMs - ageMs;
  return Number.isFinite(aheadMs) ? aheadMs : undefined;
};
