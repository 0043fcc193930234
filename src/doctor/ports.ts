import { once } from 'node:events';
import { createServer, isIPv6, type Server } from 'node:net';
import type { Config } from '../config/config.ts';
import { codeOf } from '../error-code.ts';
import { isJsonObject } from '../json.ts';
import type { Step } from './report.ts';
import { PORT_SYMPTOMS } from './surroundings-symptoms.ts';
import { findSymptom, toAdvice } from './symptoms.ts';

// Whether the service can listen on its ports.

const portsOf = ({ listen, management }: Config) => [
  { name: 'port', variable: 'PORT', hostVariable: 'HOST', ...listen },
  ...(management.listen
    ? [
        {
          name: 'management',
          variable: 'MANAGEMENT_PORT',
          hostVariable: 'MANAGEMENT_HOST',
          ...management.listen,
        },
      ]
    : []),
];

type Port = ReturnType<typeof portsOf>[number];

/** Listens on all that are configured at once, as the service does, and closes them again. */
export const tryPorts = async (config: Config): Promise<readonly Step[]> => {
  const tried = portsOf(config).map((port) => ({ port, server: createServer() }));
  const steps = await Promise.all(tried.map(tryPort));
  for (const { server } of tried) server.close();
  return steps;
};

const tryPort = async ({ port: tried, server }: { port: Port; server: Server }): Promise<Step> => {
  const { name, port, host } = tried;
  const where = port === 0 ? `any free port of ${host}` : `${port} of ${host}`;
  const code = await whyNotListening(server, tried);
  if (code === undefined) return { name, result: 'ok', message: `${where} can be used` };
  if (code === 'EADDRINUSE' && (await isServiceAt(port, host)))
    return { name, result: 'ok', message: `${where} is used by this service, which is running` };
  return {
    ...adviseOn(tried, code).advice,
    name,
    result: 'FAIL',
    message: `cannot listen on ${where} (${code})`,
  };
};

/** Node's code; undefined once `server` listens there. */
const whyNotListening = (server: Server, { port, host }: Port): Promise<string | undefined> =>
  once(server.listen({ port, host }), 'listening').then(
    () => undefined,
    (error: unknown) => codeOf(error) || 'no code',
  );

/** The address to reach what listens on all addresses. */
const LOOPBACK = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Whether what listens there answers as this service does. */
const isServiceAt = async (port: number, host: string): Promise<boolean> => {
  const address = LOOPBACK.get(host) ?? host;
  const origin = `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
  try {
    const response = await fetch(`${origin}/healthz`, {
      redirect: 'error',
      signal: AbortSignal.timeout(1_000),
    });
    const health: unknown = await response.json();
    return isJsonObject(health) && 'environment' in health && isJsonObject(health['list']);
  } catch {
    return false;
  }
};

/**
 * A line for each address that the service cannot listen on: why, and what to change. Undefined if
 * `error` is about something else.
 */
export const explainListenError = async (
  error: Error,
  config: Config,
): Promise<string | undefined> => {
  const ports = portsOf(config);
  // The listener adds both.
  const failed = ports.find(
    ({ port, host }) =>
      'port' in error && error.port === port && 'host' in error && error.host === host,
  );
  if (!failed) return undefined;
  const lines = [lineOn(failed, codeOf(error))];
  // The service listens on the management port first; without it, it has not tried the other one.
  const untried = ports.filter(({ name }) => name === 'port' && failed.name === 'management');
  for (const port of untried) {
    const server = createServer();
    const code = await whyNotListening(server, port);
    server.close();
    if (code !== undefined) lines.push(lineOn(port, code));
  }
  return lines.length === 1 ? lines[0] : ['It cannot listen:', ...lines].join('\n  ');
};

/** One line: the variable to change, why, and to what. */
const lineOn = (port: Port, code: string): string => {
  const { advice, isOfHost } = adviseOn(port, code);
  const variable = isOfHost ? port.hostVariable : port.variable;
  return `${variable}: ${advice?.likely} (${code}); ${advice?.next}`;
};

/** Why a port cannot be listened on, and what to change. @param code Node's */
const adviseOn = (words: Port, code: string) => {
  const row = findSymptom(PORT_SYMPTOMS, code);
  return { advice: row && toAdvice(row, words), isOfHost: row?.isOfHost };
};
