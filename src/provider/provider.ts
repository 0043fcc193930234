import type { LookupFunction } from 'node:net';
import type { Load } from '../banks/loading/load.ts';
import { LoadError } from '../banks/load-error.ts';
import type { Config } from '../config/config.ts';
import { createAccessToken, withToken } from './access-token.ts';
import { createTlsContextSource } from '../secrets/tls-files.ts';
import type { ClientCredentialsOptions, TokenEvent } from './client-credentials.ts';
import { createConnections, type Connections, type ConnectionsOptions } from './connections.ts';
import { processBanksAnswer } from './contract.ts';
import { requestBanks, toCondition, type ProviderAnswer } from './exchange.ts';

// The provider as the other rooms see it: a function that loads a list.

export interface Provider {
  readonly load: Load;
  /** The variable for an operator to check when the token is rejected. */
  readonly tokenVariable: string;
  /** Ends what is under way, of which nothing is told any more. */
  close(): Promise<void>;
}

/** A request to the provider has ended; `status` is undefined where there was no complete answer. */
export interface ProviderEvent {
  readonly type: 'provider-called';
  readonly status: number | undefined;
  readonly durationMs: number;
}

export interface ProviderOptions extends Pick<ClientCredentialsOptions, 'clock' | 'random' | 'addSecret'> {
  readonly version: string;
  readonly onEvent: (event: TokenEvent | ProviderEvent) => void;
  /** Resolves host names; Node's own unless given. */
  readonly lookup?: LookupFunction | undefined;
  /** Makes the connections to the provider and to the token endpoint; real ones unless given. */
  readonly connect?: ((options: ConnectionsOptions) => Connections) | undefined;
  /** Watches each request that has a token, also the one that repeats a 401. */
  readonly watchExchange?: (ask: () => Promise<ProviderAnswer>) => Promise<ProviderAnswer>;
}

export const createProvider = (
  { provider, banks }: Pick<Config, 'provider' | 'banks'>,
  { watchExchange = (ask) => ask(), connect = createConnections, ...options }: ProviderOptions,
): Provider => {
  const { clock, version, lookup, addSecret, onEvent } = options;
  const { token: source, environment, timeoutMs, maxBodyBytes, baseUrl, proxies } = provider;
  // Firewalls in front of APIs refuse requests without one.
  const userAgent = `banks-bff/${version}`;
  const tls = createTlsContextSource(provider.tls, { addSecret, clock });
  const way = { tls, proxies, userAgent, timeoutMs, clock, lookup };
  const connections = connect({ ...way, peer: 'the provider', url: baseUrl });
  const tokenConnections = connect({
    ...way,
    peer: 'the token endpoint',
    // Of the other ways to a token none makes a request.
    url: source.kind === 'client-credentials' ? source.url : baseUrl,
  });
  const closing = new AbortController();
  const accessToken = createAccessToken({
    source,
    closing: closing.signal,
    environment,
    timeoutMs,
    userAgent,
    connections: tokenConnections,
    ...options,
  });

  /** Emits how long a request took, and how it ended. */
  const timed = async (ask: () => Promise<ProviderAnswer>): Promise<ProviderAnswer> => {
    const startedAtMs = clock.monotonicMs();
    let status: number | undefined;
    try {
      const answer = await ask();
      ({ status } = answer);
      return answer;
    } finally {
      if (!closing.signal.aborted)
        onEvent({ type: 'provider-called', status, durationMs: clock.monotonicMs() - startedAtMs });
    }
  };

  return {
    load: async (signal, validators) => {
      const known = toCondition(validators);
      const answer = await withToken(accessToken, async (token) => {
        // The wait for the token may have taken all of the time.
        signal.throwIfAborted();
        const request = { accessToken: token, known, signal };
        return timed(() =>
          watchExchange(() => requestBanks({ connections, baseUrl, maxBodyBytes, userAgent }, request)),
        );
      });
      const contract = { ...banks, maxBytes: maxBodyBytes };
      return processBanksAnswer(answer, contract, { known, nowMs: clock.wallMs(), clock, signal });
    },
    tokenVariable: accessToken.variable,
    close: async () => {
      closing.abort(new LoadError('unreachable', 'the service is stopping'));
      await Promise.all([connections.destroy(), tokenConnections.destroy()]);
    },
  };
};
