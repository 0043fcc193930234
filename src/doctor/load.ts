import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LoadError } from '../banks/load-error.ts';
import type { Config } from '../config/config.ts';
import { isJsonObject } from '../json.ts';
import { createParts, type PartsOptions } from '../parts.ts';
import { elapsedSince, formatBytes, toFailure, type Step } from './report.ts';

// One load by the same code as the service's, with at most one request for a token. The provider's
// events and undici's diagnostics channels say how far it came.

/** The steps up to the response with the list, each with the one after it. */
const NEXT_STEP = { token: 'address', address: 'response', response: undefined } as const;
type LoadStep = keyof typeof NEXT_STEP;

export type TriedLoad = Awaited<ReturnType<typeof tryLoad>>;

/** Makes the load. Never rejects: a failure is the outcome. */
export const tryLoad = async (config: Config, options: PartsOptions) => {
  const { baseUrl, grants, tokenVariable } = config.provider;
  const startedAtMs = performance.now();
  const elapsed = (): string => elapsedSince(startedAtMs);
  const steps: Step[] = [];
  /** Under way; undefined once the response has come. */
  let current: LoadStep | undefined = 'token';
  const pass = (name: LoadStep, message: string): void => {
    steps.push({ name, result: 'ok', message });
    current = NEXT_STEP[name];
  };
  if (!grants) pass('token', `from ${tokenVariable}`);
  let body: Buffer | undefined;

  const onConnected = (message: unknown): void => {
    // Before there is a token it is the token endpoint; another origin is a proxy.
    if (current === 'address' && originOf(message) === baseUrl.origin)
      pass('address', describeConnection(message, elapsed()));
  };
  subscribe('undici:client:connected', onConnected);
  const parts = createParts(config, {
    ...options,
    onEvent: (event) => {
      if (event.type === 'token-renewed')
        pass('token', `granted by the token endpoint after ${elapsed()}`);
      else if (event.type === 'provider-called' && event.response?.status === 200) {
        body = event.response.body;
        pass('response', `200, ${formatBytes(body.length)} complete after ${elapsed()}`);
      }
    },
  });
  const { provider } = parts;
  const outcome = await provider
    .load()
    .catch((error: unknown) => LoadError.from(error))
    .finally(provider.close);
  unsubscribe('undici:client:connected', onConnected);

  if (current !== undefined && outcome instanceof LoadError)
    steps.push(toFailure(current, outcome, config));
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
