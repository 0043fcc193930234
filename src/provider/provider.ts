import type { Load } from '../banks/loading/one-load.ts';
import type { Config } from '../config/config.ts';
import { createAccessToken, withToken } from './access-token.ts';
import { createConnections, requestBanks, toCondition, type ProviderAnswer } from './exchange.ts';
import type { ClientCredentialsOptions, TokenEvent } from './client-credentials.ts';
import { processBanksAnswer } from './contract.ts';

// The provider as the rest sees it: something that loads a list.

export interface Provider {
  readonly load: Load;
  /** The variable that an operator must look at when the token is rejected. */
  readonly tokenVariable: string;
  close(): Promise<void>;
}

/** One exchange with the provider has ended; `status` is undefined where no answer came that could be read. */
export interface ProviderEvent {
  readonly type: 'provider-called';
  readonly status: number | undefined;
  readonly durationMs: number;
}

export interface ProviderOptions extends Pick<ClientCredentialsOptions, 'clock' | 'random' | 'addSecret'> {
  readonly onEvent: (event: TokenEvent | ProviderEvent) => void;
  /** Watches each exchange that has a token, the one that repeats a 401 included. */
  readonly watchExchange?: (ask: () => Promise<ProviderAnswer>) => Promise<ProviderAnswer>;
}

export const createProvider = (
  { provider, banks }: Pick<Config, 'provider' | 'banks'>,
  { watchExchange = (ask) => ask(), ...options }: ProviderOptions,
): Provider => {
  const { clock, onEvent } = options;
  const { token: source, environment, timeoutMs, maxBodyBytes } = provider;
  const connections = createConnections();
  // A token endpoint that hangs must not hold up the list beside it.
  const tokenConnections = createConnections();
  const accessToken = createAccessToken({
    source,
    environment,
    timeoutMs,
    connections: tokenConnections,
    ...options,
  });

  /** Emits how long an exchange took, and how it ended. */
  const timed = async (ask: () => Promise<ProviderAnswer>): Promise<ProviderAnswer> => {
    const startedAtMs = clock.monotonicMs();
    let status: number | undefined;
    try {
      const answer = await ask();
      ({ status } = answer);
      return answer;
    } finally {
      onEvent({ type: 'provider-called', status, durationMs: clock.monotonicMs() - startedAtMs });
    }
  };

  return {
    load: async (signal, validators) => {
      const known = toCondition(validators);
      const answer = await withToken(accessToken, (token) =>
        timed(() =>
          watchExchange(() =>
            requestBanks({ connections, ...provider }, { accessToken: token, known, signal }),
          ),
        ),
      );
      const contract = { ...banks, maxBytes: maxBodyBytes };
      return processBanksAnswer(answer, contract, { known, nowMs: clock.wallMs(), signal });
    },
    tokenVariable: accessToken.variable,
    close: async () => {
      await Promise.all([connections.destroy(), tokenConnections.destroy()]);
    },
  };
};
