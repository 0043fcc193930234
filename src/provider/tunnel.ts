import type { Dispatcher } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import type { Clock } from '../clock.ts';
import { withDeadline } from '../deadline.ts';
import { codeNote, isParserError } from './connection-errors.ts';

// The tunnel through an egress proxy (CONNECT, RFC 9110 section 9.3.6). Whatever goes wrong before it is open is the
// proxy's failure, and its message names the proxy's variable.

/** The variable with the proxy's address. */
export type ProxyVariable = 'HTTPS_PROXY' | 'HTTP_PROXY';

export interface TunnelOptions {
  readonly variable: ProxyVariable;
  /** Longest time from connecting to the proxy to its answer. */
  readonly limitMs: number;
  readonly clock: Clock;
  readonly onOpen: (variable: ProxyVariable) => void;
}

/** The proxy's answer that it could not connect. */
class NoWayOnward extends LoadError {
  /** For those who watch undici's diagnostics channels. */
  readonly code = 'PROXY_CANNOT_CONNECT';
}

type Connect = (options: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData>;

/** `client`, a connection to the proxy, with a `connect` that rejects with a LoadError unless the tunnel is open. */
export const asTunnel = <C extends Dispatcher>(client: C, options: TunnelOptions): C =>
  Object.assign(client, { connect: openTunnel(client.connect.bind(client), options) });

const openTunnel =
  (connect: Connect, { variable, limitMs, clock, onOpen }: TunnelOptions): Connect =>
  async (request) => {
    const timeoutError = (): LoadError =>
      new LoadError('proxy_unreachable', `the proxy in ${variable} opened no tunnel within ${limitMs} ms`);
    const tunnel = await withDeadline((signal) => connect({ ...request, signal }), {
      limitMs,
      clock,
      timeoutError,
    }).catch((error: unknown) => {
      if (error instanceof LoadError) throw error;
      const problem = isParserError(error)
        ? 'what answers is not an HTTP proxy, in'
        : 'no connection to the proxy in';
      throw new LoadError('proxy_unreachable', `${problem} ${variable}${codeNote(error)}`);
    });
    if (tunnel.statusCode === 200) {
      onOpen(variable);
      return tunnel;
    }
    tunnel.socket.on('error', () => undefined).destroy();
    throw toRefusal(tunnel.statusCode, variable);
  };

const toRefusal = (status: number, variable: ProxyVariable): LoadError => {
  // Proxies that are not sure about their own name for it answer 401.
  if (status === 407 || status === 401)
    return new LoadError(
      'proxy_refused',
      `the proxy in ${variable} does not accept the user and password in its address, or requires them (${status})`,
    );
  // With a server error the proxy reports on the way behind it: it tried, and found nobody there.
  if (status >= 500)
    return new NoWayOnward('unreachable', `the proxy in ${variable} cannot connect any further (${status})`);
  return new LoadError(
    'proxy_refused',
    `the proxy in ${variable} refuses to connect to this address (${status})`,
  );
};
