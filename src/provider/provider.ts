import type { LookupFunction } from 'node:net';
import type { Load } from '../banks/loading/renewal-options.ts';
import { STOPPING } from '../banks/load-error.ts';
import type { Config } from '../config/config.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { createGivenToken, withToken } from './access-token.ts';
import { createClientCredentials } from './client-credentials.ts';
import { readResponse, type ProviderResponse } from './provider-response.ts';
import {
  createConnections as createRealConnections,
  type Connections,
  type ConnectionsOptions,
} from './connections.ts';
import { processBanksResponse } from './banks-response.ts';
import { MAX_GRANT_BYTES, type TokenEvent, type TokenOptions } from './token-endpoint.ts';

// The provider as the other modules see it: a function that loads a list.

/** A request to the provider has ended; `response` is undefined if there was no complete one. */
export interface ProviderEvent {
  readonly type: 'provider-called';
  readonly response: ProviderResponse | undefined;
  readonly durationMs: number;
}

export interface ProviderOptions extends Pick<TokenOptions, 'clock' | 'random'> {
  readonly version: string;
  readonly secrets: Secrets;
  readonly addSecret: TokenOptions['addSecret'];
  /**
   * The variable whose secret a piece of a list contains; such a list is refused. By default lists
   * are not searched.
   */
  readonly findEcho?: ((json: string) => string | undefined) | undefined;
  readonly onEvent: (event: TokenEvent | ProviderEvent) => void;
  /** Resolves host names; by default Node does. */
  readonly lookup?: LookupFunction | undefined;
  /** Creates the connections to the provider and to the token endpoint; by default real ones. */
  readonly createConnections?: ((options: ConnectionsOptions) => Connections) | undefined;
}

export const createProvider = (
  { provider, banks }: Pick<Config, 'provider' | 'banks'>,
  options: ProviderOptions,
) => {
  const { clock, random, version, lookup, secrets, onEvent } = options;
  const { createConnections = createRealConnections } = options;
  const { token: source, environment, timeoutMs, maxBodyBytes, baseUrl, proxies } = provider;
  // Firewalls in front of APIs refuse requests without one.
  const userAgent = `banks-bff/${version}`;
  const common = { secrets, proxies, userAgent, timeoutMs, clock, lookup };
  const connections = createConnections({
    ...common,
    peer: 'the provider',
    url: baseUrl,
    maxBodyBytes,
  });
  const closing = new AbortController();
  const accessToken =
    source.kind === 'given'
      ? createGivenToken(source.token, secrets)
      : createClientCredentials(source, {
          connections: createConnections({
            ...common,
            peer: 'the token endpoint',
            url: source.endpoint.url,
            maxBodyBytes: MAX_GRANT_BYTES,
          }),
          closing: closing.signal,
          environment,
          timeoutMs,
          userAgent,
          clock,
          random,
          secrets,
          addSecret: options.addSecret,
          onEvent,
        });

  /**
   * `GET {base_url}/api/v1/banks`. The token goes to the configured address and nowhere else:
   * undici's `request` follows no redirect, and no error from here contains a header. Emits how
   * long it took, and how it ended.
   */
  const requestBanks = async (token: string, signal: AbortSignal): Promise<ProviderResponse> => {
    // The wait for the token may have taken all of the time.
    signal.throwIfAborted();
    const path = banksUrl(baseUrl).pathname;
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'br, gzip',
      authorization: `Bearer ${token}`,
      'user-agent': userAgent,
    };
    const request = { method: 'GET', path, headers, signal } as const;
    const startedAtMs = clock.monotonicMs();
    let response: ProviderResponse | undefined;
    try {
      response = await connections.request(request, (received) =>
        readResponse(received, (status) => status === 200, maxBodyBytes, signal),
      );
      return response;
    } finally {
      if (!closing.signal.aborted)
        onEvent({
          type: 'provider-called',
          response,
          durationMs: clock.monotonicMs() - startedAtMs,
        });
    }
  };

  const load: Load = async (signal) => {
    const response = await withToken(accessToken, (text) => requestBanks(text, signal));
    const contract = { ...banks, maxBytes: maxBodyBytes, findEcho: options.findEcho };
    const nowMs = clock.wallMs();
    return (reading) => processBanksResponse(response, contract, { nowMs, clock, signal: reading });
  };
  return {
    load,
    token: accessToken,
    /** Ends a request for a token, and emits no more events. A load ends by its own signal. */
    close: (): void => closing.abort(STOPPING),
  };
};

/**
 * Only the path changes: resolved as a reference, a base path that begins with `//` would name
 * another host.
 */
export const banksUrl = (baseUrl: URL): URL => {
  const url = new URL(baseUrl);
  url.pathname = `${baseUrl.pathname.replace(/(?<!\/)\/+$/, '')}/api/v1/banks`;
  return url;
};
