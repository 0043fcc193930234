import type { Load } from '../banks/bank-list.ts';
import type { Config } from '../config/config.ts';
import { createAccessToken, withToken } from './access-token.ts';
import { createConnections, requestBanks, toCondition, type ProviderAnswer } from './exchange.ts';
import type { ClientCredentialsOptions } from './client-credentials.ts';
import { processBanksAnswer } from './contract.ts';

// The provider as the rest sees it: something that loads a list.

export interface Provider {
  readonly load: Load;
  /** The variable that an operator must look at when the token is rejected. */
  readonly tokenVariable: string;
  close(): Promise<void>;
}

export interface ProviderOptions extends Pick<
  ClientCredentialsOptions,
  'clock' | 'random' | 'hide' | 'onEvent'
> {
  /** Makes each exchange with a token, the one that repeats a 401 included, and may look at it. */
  readonly exchange: (ask: () => Promise<ProviderAnswer>) => Promise<ProviderAnswer>;
}

export const createProvider = (
  { provider, banks }: Pick<Config, 'provider' | 'banks'>,
  { exchange, ...options }: ProviderOptions,
): Provider => {
  const connections = createConnections();
  // A token endpoint that hangs must not hold up the list beside it.
  const tokenConnections = createConnections();
  const { token: source, environment, timeoutMs } = provider;
  const accessToken = createAccessToken({
    source,
    environment,
    timeoutMs,
    connections: tokenConnections,
    ...options,
  });
  return {
    load: async (signal, validators) => {
      const known = toCondition(validators);
      const answer = await withToken(accessToken, (token) =>
        exchange(() => requestBanks({ connections, ...provider }, { accessToken: token, known, signal })),
      );
      const contract = { ...banks, maxBytes: provider.maxBodyBytes };
      return processBanksAnswer(answer, contract, { known, nowMs: options.clock.wallMs(), signal });
    },
    tokenVariable: accessToken.variable,
    close: async () => {
      await Promise.all([connections.destroy(), tokenConnections.destroy()]);
    },
  };
};
