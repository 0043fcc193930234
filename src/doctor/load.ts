import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LoadError } from '../banks/load-error.ts';
import type { Config } from '../config/config.ts';
import { BASE_URL_VARIABLES, FAILURE_KINDS, TOKEN } from '../failure-kinds.ts';
import { isJsonObject } from '../json.ts';
import { createParts, type PartsOptions } from '../parts.ts';
import { SECRET_NAMES } from '../secrets/secret.ts';
import { variableOf } from '../secrets/secrets.ts';
import { formatBytes, inWholeMs, toFailure, type Step } from './report.ts';

// One load by the same code as the service's, with at most one request for a token. The provider's
// events and undici's diagnostics channels say how far it came.

/** In their order, up to the response with the list. */
const STEPS = ['token', 'address', 'response'] as const;

/** Makes the load. Never rejects: a failure is the outcome. */
export const tryLoad = async (config: Config, options: PartsOptions) => {
  const { baseUrl, grants, tokenVariable } = config.provider;
  const startedAtMs = performance.now();
  const elapsed = (): string => inWholeMs(performance.now() - startedAtMs);
  /** What happened in each of the steps that have passed. */
  let passed: readonly string[] = grants ? [] : [`from ${tokenVariable}`];
  let body: Buffer | undefined;

  const onConnected = (message: unknown): void => {
    // Before there is a token it is the token endpoint; another origin is a proxy.
    if (passed.length === 1 && originOf(message) === baseUrl.origin)
      passed = [...passed, describeConnection(message, elapsed())];
  };
  subscribe('undici:client:connected', onConnected);
  const parts = createParts(config, {
    ...options,
    onEvent: (event) => {
      if (event.type === 'token-renewed')
        passed = [`granted by the token endpoint after ${elapsed()}`];
      else if (event.type === 'provider-called' && event.response?.status === 200) {
        body = event.response.body;
        passed = [...passed, `200, ${formatBytes(body.length)} complete after ${elapsed()}`];
      }
    },
  });
  const { provider } = parts;
  const outcome = await provider
    .load()
    .catch((error: unknown) => LoadError.from(error))
    .finally(provider.close);
  unsubscribe('undici:client:connected', onConnected);

  const steps = STEPS.flatMap((name, index): Step[] => {
    const message = passed[index];
    if (message !== undefined) return [{ name, result: 'ok', message }];
    const isFirst = index === passed.length;
    return isFirst && outcome instanceof LoadError
      ? [toFailure(name, outcome, variablesOf(outcome, config, name))]
      : [];
  });
  return { parts, outcome, body, steps };
};

/** Of a message of `undici:client:connected`: what the connection is to. */
const originOf = (message: unknown): string => {
  const target = isJsonObject(message) ? message['connectParams'] : undefined;
  return isJsonObject(target) ? `${String(target['protocol'])}//${String(target['host'])}` : '';
};

/** Through a proxy, the address is that of the proxy. */
const describeConnection = (message: unknown, after: string): string => {
  const socket = isJsonObject(message) ? message['socket'] : undefined;
  if (!(socket instanceof Socket)) return `connected after ${after}`;
  const tls =
    socket instanceof TLSSocket
      ? `${socket.getProtocol()}, certificate valid until ${socket.getPeerCertificate().valid_to}`
      : 'without TLS';
  return `connected to ${socket.remoteAddress} port ${socket.remotePort} after ${after}, ${tls}`;
};

/** The variables that may change a failure, by their names in this configuration. */
export const variablesOf = (
  error: LoadError,
  { provider: { environment, grants, tokenVariable }, secrets }: Config,
  step: string,
): readonly string[] => {
  const isOfEndpoint = step === 'token' && grants;
  const names: Readonly<Record<string, string>> = {
    ...Object.fromEntries(SECRET_NAMES.map((name) => [name, variableOf(name, secrets)])),
    [BASE_URL_VARIABLES]: isOfEndpoint
      ? 'PROVIDER_TOKEN_URL'
      : `PROVIDER_${environment.toUpperCase()}_BASE_URL`,
    [TOKEN]: tokenVariable,
  };
  return FAILURE_KINDS[error.kind].variables.map((name) => names[name] ?? name);
};
