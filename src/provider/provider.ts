import { LoadError, STOPPING } from '../banks/load-error.ts';
import { readList, type LoadedList } from '../banks/reading/list-reader.ts';
import { withDeadline, type Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { headersIn } from '../secrets/secret-rules.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { noResponseInTime, toLoadError, type Peer } from './exchange-errors.ts';
import { createExchange, type ExchangeResponse } from './exchange.ts';
import { toStatusError } from './status.ts';
import { createGrantedTokens, type TokenEvent } from './token.ts';

// The provider as the other modules see it: a function that loads a list. The token goes to the
// configured address and nowhere else: no redirect is followed, and no error contains a header.

/** A request to the provider has ended; `response` is undefined if there was no complete one. */
export interface ProviderEvent {
  readonly type: 'provider-called';
  readonly response: ExchangeResponse | undefined;
  readonly durationMs: number;
}

export interface ProviderOptions {
  readonly version: string;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'read' | 'tlsContext'>;
  /** Is given each granted token before it is used, and finds secrets in lists. */
  readonly redaction: Pick<Redaction, 'addSecret' | 'findEcho'>;
  readonly onEvent: (event: TokenEvent | ProviderEvent) => void;
}

export const createProvider = (
  { provider, banks, secrets: sources }: Pick<Config, 'provider' | 'banks' | 'secrets'>,
  options: ProviderOptions,
) => {
  const { clock, version, secrets, redaction, onEvent } = options;
  const { grants, environment, timeoutMs, maxBodyBytes, proxies } = provider;
  const exchange = createExchange({
    userAgent: `banks-bff/${version}`,
    tls: secrets.tlsContext,
    proxies,
  });
  const closing = new AbortController();
  /** Undefined: the token is a fixed one, and read at each use. */
  const granted =
    grants &&
    createGrantedTokens(grants, {
      ...options,
      exchange,
      environment,
      timeoutMs,
      closing: closing.signal,
    });
  const url = banksUrl(provider);

  const requestBanks = async (token: string, signal: AbortSignal): Promise<ExchangeResponse> => {
    const further = sources.PROVIDER_HEADERS
      ? headersIn(await secrets.read('PROVIDER_HEADERS'))
      : [];
    const startedAtMs = clock.monotonicMs();
    let response: ExchangeResponse | undefined;
    try {
      response = await exchange({
        peer: 'the provider',
        url,
        headers: {
          ...Object.fromEntries(further),
          accept: 'application/json',
          'accept-encoding': 'br, gzip',
          authorization: `Bearer ${token}`,
        },
        maxBodyBytes,
        needsBody: (status) => status === 200,
        signal,
      });
      return response;
    } finally {
      const durationMs = clock.monotonicMs() - startedAtMs;
      onEvent({ type: 'provider-called', response, durationMs });
    }
  };

  /**
   * The provider's response. One that refuses a granted token gets a newer one and one retry, never
   * more: a provider that refuses whatever is issued must not be asked in a loop.
   */
  const requestWithToken = async (
    signal: AbortSignal,
    nowAsking: (peer: Peer) => void,
  ): Promise<ExchangeResponse> => {
    if (!granted) return requestBanks(await secrets.read('PROVIDER_ACCESS_TOKEN'), signal);
    nowAsking('the token endpoint');
    const token = await granted.current();
    nowAsking('the provider');
    const response = await requestBanks(token, signal);
    if (response.status !== 401 && response.status !== 403) return response;
    nowAsking('the token endpoint');
    const newer = await granted.newerThan(token);
    nowAsking('the provider');
    return newer === undefined ? response : requestBanks(newer, signal);
  };

  const load = async (
    signal: AbortSignal,
    nowAsking: (peer: Peer) => void,
  ): Promise<LoadedList> => {
    const response = await requestWithToken(signal, nowAsking);
    if (response.status === 401) throw unauthorized(provider.tokenVariable);
    if (response.status !== 200) throw toStatusError('the provider', response, clock.wallMs());
    const list = readList(response.body, banks);
    const echoed = redaction.findEcho(list.json.toString());
    if (echoed !== undefined)
      throw new LoadError('echoed_secret', `a published value contains the secret of ${echoed}`);
    return { ...list, hasNextPage: namesNextPage(response.headers['link']) };
  };

  return {
    /**
     * Requests the list, and checks and narrows it, within PROVIDER_TIMEOUT.
     * @param ended ends it earlier
     * @throws {LoadError} if there is none
     */
    load: async (ended?: AbortSignal): Promise<LoadedList> => {
      let peer: Peer = 'the provider';
      const nowAsking = (next: Peer): void => void (peer = next);
      try {
        return await withDeadline((signal) => load(signal, nowAsking), {
          limitMs: timeoutMs,
          clock,
          timeoutError: () => noResponseInTime(peer, timeoutMs),
          signal: ended,
        });
      } catch (error) {
        throw toLoadError(error);
      }
    },
    /**
     * Requests a new token, if tokens are granted.
     * @returns why that failed, and what becomes of the current one; undefined if it succeeded
     */
    renewToken: async (): Promise<string | undefined> => granted?.renew(),
    /** Ends a request for a token, and emits no more events. A load ends by its own signal. */
    close: (): void => closing.abort(STOPPING),
  };
};

const unauthorized = (variable: string): LoadError =>
  new LoadError('unauthorized', `the provider does not accept the token (401); check ${variable}`, {
    upstreamStatus: 401,
  });

/**
 * Only the path and the query change: resolved as a reference, a base path that begins with `//`
 * would name another host.
 */
const banksUrl = ({ baseUrl, query }: Config['provider']): URL => {
  const url = new URL(baseUrl);
  url.pathname = `${baseUrl.pathname.replace(/(?<!\/)\/+$/, '')}/api/v1/banks`;
  url.search = query?.reveal() ?? '';
  return url;
};

/**
 * Whether a `Link` header names a next page (RFC 8288 section 3). `next` may be one of several
 * relation types, with spaces between them; `next-archive` and `https://example.com/next` are
 * others.
 */
const namesNextPage = (link = ''): boolean =>
  /;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next[\s"]|next\s*(?:[;,]|$))/i.test(link);
