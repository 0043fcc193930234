import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LoadError } from '../banks/load-error.ts';
import type { LoadedList } from '../banks/reading/list-reader.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { withDeadline } from '../deadline.ts';
import { BASE_URL_VARIABLES, TOKEN } from '../failure-kinds.ts';
import { explainFailure } from '../banks/load-error.ts';
import { isJsonObject } from '../json.ts';
import { createProvider, type ProviderEvent } from '../provider/provider.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { formatBytes, inWholeMs, toFailure, type Step } from './report.ts';

// One load by the same code as the service's, with at most one request for a token, observed
// through its events and undici's diagnostics channels, and told step by step up to its end.

interface LoadContext extends Pick<Redaction, 'addSecret' | 'findEcho'> {
  readonly version: string;
  readonly secrets: Secrets;
}

/** The way to the provider, or to the token endpoint. */
interface SeenConnection {
  readonly afterMs: number;
  /** Of the other end; undefined: it is behind a proxy. */
  readonly address: string | undefined;
  /** The version of TLS, and when the certificate expires. */
  readonly tls: string | undefined;
}

export type Observation = Awaited<ReturnType<typeof observeLoad>>;

/** Makes the load. Never rejects: a failure is the outcome. */
export const observeLoad = async (config: Config, context: LoadContext) => {
  const { version, secrets, addSecret, findEcho } = context;
  const { timeoutMs, token } = config.provider;
  const startedAtMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedAtMs;
  let tokenAfterMs = token.kind === 'given' ? 0 : undefined;
  let connection: SeenConnection | undefined;
  let isThroughProxy = false;
  let headAfterMs: number | undefined;
  let response: ProviderEvent['response'];

  // Both count for the provider only: what came before the token was of the token endpoint.
  const onConnected = (message: unknown): void => {
    if (originOf(message) !== config.provider.baseUrl.origin) isThroughProxy = true;
    else connection = toConnection(message, { isThroughProxy, afterMs: elapsedMs() });
  };
  const onHeaders = (): void => {
    headAfterMs = elapsedMs();
  };
  subscribe('undici:client:connected', onConnected);
  subscribe('undici:request:headers', onHeaders);
  const provider = createProvider(config, {
    version,
    secrets,
    addSecret,
    findEcho,
    clock: systemClock,
    random: Math.random,
    onEvent: (event) => {
      if (event.type === 'provider-called') response = event.response;
      if (event.type !== 'token-renewed') return;
      tokenAfterMs = elapsedMs();
      connection = undefined;
      isThroughProxy = false;
    },
  });
  const timeoutError = (): LoadError =>
    new LoadError('timeout', `no complete response within ${timeoutMs} ms`);
  let outcome: LoadedList | LoadError;
  try {
    outcome = await withDeadline(provider.load, {
      limitMs: timeoutMs,
      clock: systemClock,
      timeoutError,
    });
  } catch (error) {
    outcome = LoadError.from(error);
  }
  const endedAfterMs = elapsedMs();
  provider.close();
  unsubscribe('undici:client:connected', onConnected);
  unsubscribe('undici:request:headers', onHeaders);
  return { outcome, tokenAfterMs, connection, headAfterMs, response, endedAfterMs };
};

/** Of a message of `undici:client:connected`: what the connection is to. */
const originOf = (message: unknown): string => {
  const target = isJsonObject(message) ? message['connectParams'] : undefined;
  return isJsonObject(target) ? `${String(target['protocol'])}//${String(target['host'])}` : '';
};

const toConnection = (
  message: unknown,
  { isThroughProxy, afterMs }: { readonly isThroughProxy: boolean; readonly afterMs: number },
): SeenConnection | undefined => {
  if (!isJsonObject(message) || !(message['socket'] instanceof Socket)) return undefined;
  const { socket } = message;
  return {
    afterMs,
    address: isThroughProxy ? undefined : `${socket.remoteAddress} port ${socket.remotePort}`,
    tls:
      socket instanceof TLSSocket
        ? `${socket.getProtocol()}, its certificate is valid until ${socket.getPeerCertificate().valid_to}`
        : undefined,
  };
};

/** The steps of the load until the list has arrived, or the one that failed. */
export const explainLoad = (config: Config, observation: Observation): readonly Step[] => {
  const { outcome, tokenAfterMs, connection, headAfterMs, response, endedAfterMs } = observation;
  const isTokenMissing =
    tokenAfterMs === undefined || (outcome instanceof LoadError && outcome.kind === 'no_token');
  const steps = [
    {
      name: 'token',
      passed: isTokenMissing ? undefined : describeToken(config, tokenAfterMs),
    },
    { name: 'address', passed: connection && describeConnection(connection) },
    {
      name: 'response',
      passed:
        response?.status === 200
          ? `200 after ${inWholeMs(headAfterMs ?? endedAfterMs)}, ${formatBytes(response.body.length)} complete after ${inWholeMs(endedAfterMs)}`
          : undefined,
    },
  ];
  const failedAt = steps.findIndex(({ passed }) => passed === undefined);
  const before = failedAt === -1 ? steps : steps.slice(0, failedAt);
  const failed = steps[failedAt];
  return [
    ...before.map(({ name, passed = '' }): Step => ({ name, result: 'ok', message: passed })),
    ...(failed && outcome instanceof LoadError
      ? [toFailure(failed.name, outcome, variablesOf(outcome, config, failed.name))]
      : []),
  ];
};

const describeToken = ({ provider: { token } }: Config, afterMs: number): string => {
  if (token.kind === 'client-credentials')
    return `granted by the token endpoint after ${inWholeMs(afterMs)}`;
  return `from ${'reveal' in token.token ? 'PROVIDER_ACCESS_TOKEN' : 'the file of PROVIDER_ACCESS_TOKEN_FILE'}`;
};

const describeConnection = ({ address, tls, afterMs }: SeenConnection): string => {
  const way = address === undefined ? 'through a proxy' : `to ${address}`;
  return `connected ${way} after ${inWholeMs(afterMs)}, ${tls ?? 'without TLS'}`;
};

/** The variables that may change a failure, by their names in this configuration. */
export const variablesOf = (
  error: LoadError,
  { provider: { environment, token } }: Config,
  step: string,
): readonly string[] => {
  const names: Readonly<Record<string, readonly string[]>> = {
    [BASE_URL_VARIABLES]: [
      step === 'token' && token.kind === 'client-credentials'
        ? 'PROVIDER_TOKEN_URL'
        : `PROVIDER_${environment.toUpperCase()}_BASE_URL`,
    ],
    [TOKEN]:
      token.kind === 'given'
        ? ['reveal' in token.token ? 'PROVIDER_ACCESS_TOKEN' : 'PROVIDER_ACCESS_TOKEN_FILE']
        : ['PROVIDER_TOKEN_URL', 'PROVIDER_TOKEN_SCOPE', 'PROVIDER_TOKEN_PARAMS'],
  };
  return explainFailure(error).variables.flatMap((name) => names[name] ?? [name]);
};
