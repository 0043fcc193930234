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
  { name: 'port', variable: 'PORT', ...listen },
  ...(management.listen
    ? [{ name: 'management', variable: 'MANAGEMENT_PORT', ...management.listen }]
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
  try {
    await once(server.listen({ port, host }), 'listening');
    return { name, result: 'ok', message: `${where} can be used` };
  } catch (error) {
    const code = codeOf(error) || 'no code';
    if (code === 'EADDRINUSE' && (await isServiceAt(port, host)))
      return { name, result: 'ok', message: `${where} is used by this service, which is running` };
    return {
      ...adviseOn(tried, code),
      name,
      result: 'FAIL',
      message: `cannot listen on ${where} (${code})`,
    };
  }
};

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
 * Why the service cannot listen, and what to change; undefined if `error` is about something else.
 */
export const explainListenError = (error: Error, config: Config): string | undefined => {
  // The listener adds both.
  const failed = portsOf(config).find(
    ({ port, host }) =>
      'port' in error && error.port === port && 'host' in error && error.host === host,
  );
  const advice = failed && adviseOn(failed, codeOf(error));
  return advice && `${failed.variable}: ${advice.likely} (${codeOf(error)}); ${advice.next}`;
};

/** Why a port cannot be listened on, and what to change. @param code Node's */
const adviseOn = ({ variable, port, host }: Port, code: string) => {
  const row = findSymptom(PORT_SYMPTOMS, code);
  const hostVariable = variable.replace('PORT', 'HOST');
  return row && toAdvice(row, { variable, port: String(port), host, hostVariable });
};
