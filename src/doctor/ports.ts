import { once } from 'node:events';
import { createServer, isIPv6 } from 'node:net';
import { Agent, request } from 'undici';
import type { Config } from '../config/config.ts';
import { codeOf } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import type { Step } from './report.ts';

// Whether the service can listen on its ports, and what to change where it cannot.

/** `prefix` is that of the port's variables. */
const portsOf = ({ listen, management }: Config) => [
  { name: 'port', prefix: '', ...listen },
  ...(management.listen
    ? [{ name: 'management', prefix: 'MANAGEMENT_', ...management.listen }]
    : []),
];

type Port = ReturnType<typeof portsOf>[number];

/** Listens once on each port, and closes it again. */
export const tryPorts = (config: Config): Promise<readonly Step[]> =>
  Promise.all(portsOf(config).map(tryPort));

const tryPort = async (tried: Port): Promise<Step> => {
  const { name, port, host } = tried;
  const where = port === 0 ? `any free port of ${host}` : `${port} of ${host}`;
  const server = createServer();
  try {
    await once(server.listen({ port, host }), 'listening');
    return { name, result: 'ok', message: `${where} can be used` };
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE' && (await isServiceAt(port, host)))
      return { name, result: 'ok', message: `${where} is used by this service, which is running` };
    const { problem, next, variable } = explain(tried, codeOf(error));
    return { name, result: 'FAIL', message: problem, next: [next], variables: [variable] };
  } finally {
    server.close();
  }
};

/** Whether what listens there responds as this service does. Never through a proxy. */
const isServiceAt = async (port: number, host: string): Promise<boolean> => {
  // The address of all interfaces is reached by loopback.
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${port}/healthz`;
  const dispatcher = new Agent();
  try {
    const { body } = await request(url, {
      dispatcher,
      // The management port refuses names that it does not know.
      headers: { host: 'localhost' },
      signal: AbortSignal.timeout(1_000),
    });
    const health: unknown = await body.json();
    return isJsonObject(health) && isJsonObject(health['list']) && 'state' in health['list'];
  } catch {
    return false;
  } finally {
    await dispatcher.destroy();
  }
};

/** Why the service cannot listen, in one line; undefined if `error` is about something else. */
export const explainListenError = (error: unknown, config: Config): string | undefined => {
  // The listener adds both.
  if (!(error instanceof Error && 'port' in error && 'host' in error)) return undefined;
  const failed = portsOf(config).find(
    ({ port, host }) => error.port === port && error.host === host,
  );
  if (!failed) return undefined;
  const { problem, next, variable } = explain(failed, codeOf(error));
  return `${variable}: ${problem}; ${next}`;
};

/** @param code Node's */
const explain = ({ prefix, port, host }: Port, code: string) => {
  const [variable, hostVariable] = [`${prefix}PORT`, `${prefix}HOST`];
  if (code === 'EADDRINUSE')
    return {
      variable,
      problem: `another program uses port ${port} (${code})`,
      next: `set ${variable} to another one, or stop that program`,
    };
  if (code === 'EACCES' || code === 'EPERM')
    return {
      variable,
      problem: `this user may not listen on port ${port} (${code})`,
      next: `set ${variable} to one above 1023`,
    };
  return {
    variable: hostVariable,
    problem: `${host} is not an address of this machine (${code})`,
    next: `set ${hostVariable} to one that is, or to 0.0.0.0 for all of its addresses`,
  };
};
