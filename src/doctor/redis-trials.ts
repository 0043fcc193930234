import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectByTls } from 'node:tls';
import { systemClock } from '../clock.ts';
import { connectionFaultOf } from '../provider/errors.ts';
import { withDeadline } from '../deadline.ts';
import { codeOf } from '../error-code.ts';
import type { CreateRedisClient } from '../sharing/redis-client.ts';
import { CONNECT_MS, replyCodeOf } from '../sharing/redis-connection.ts';

// What is wrong with the address of Redis, where the error of the connection does not say it: the
// same is tried with the other scheme, or without the database. No password is sent to what may not
// be Redis, or without the TLS that the address asks for.

/**
 * What is wrong with `url`; undefined if that was not found out.
 * @param error with which the connection, or the login, failed
 */
export const findAddressFault = async (
  url: URL,
  error: unknown,
  createClient: CreateRedisClient,
): Promise<'TLS missing' | 'TLS not spoken' | 'no such database' | undefined> => {
  const code = codeOf(error);
  const reply = replyOf(error);
  if (reply === 'ERR')
    return (await isDatabaseRefused(url, createClient)) ? 'no such database' : undefined;
  const fault = connectionFaultOf(code);
  // Other replies and faults say what is wrong.
  if (reply !== '' || (fault !== undefined && fault !== 'no common TLS')) return undefined;
  if (url.protocol === 'rediss:')
    return (await speaksPlainRedis(url)) ? 'TLS not spoken' : undefined;
  return (await speaksTls(url)) ? 'TLS missing' : undefined;
};

/** The code of a reply of Redis; empty if the error is one of the connection. */
const replyOf = (error: unknown): string => (codeOf(error) === '' ? replyCodeOf(error) : '');

/** Whether the login works, or fails for another reason, without the number of a database. */
const isDatabaseRefused = async (url: URL, createClient: CreateRedisClient): Promise<boolean> => {
  if (/^\/?0*$/.test(url.pathname)) return false;
  const withoutDatabase = new URL(url);
  withoutDatabase.pathname = '';
  const redis = createClient({
    url: withoutDatabase.href,
    connectTimeoutMs: 2 * CONNECT_MS,
    onError: () => undefined,
  });
  try {
    await inTime(() => redis.connect());
    return true;
  } catch (error) {
    const reply = replyOf(error);
    return reply !== '' && reply !== 'ERR';
  } finally {
    redis.destroy();
  }
};

/** Whether a PING without TLS gets a reply of Redis, such as that it wants a password. */
const speaksPlainRedis = async (url: URL): Promise<boolean> => {
  const socket = connect(placeOf(url));
  socket.on('connect', () => socket.write('PING\r\n'));
  const [reply] = await firstOf(socket, 'data');
  return /^(?:\+PONG\r|-[A-Z]{2,20} )/.test(String(reply));
};

/** Whether TLS can be spoken, with whatever certificate. */
const speaksTls = async (url: URL): Promise<boolean> => {
  const { host, port } = placeOf(url);
  const socket = connectByTls({ host, port, ...(isIP(host) === 0 && { servername: host }) });
  const [, error] = await firstOf(socket, 'secureConnect');
  const fault = error === undefined ? undefined : connectionFaultOf(codeOf(error));
  return error === undefined || (fault !== undefined && !NO_CONNECTION.includes(fault));
};

const NO_CONNECTION: readonly string[] = ['unknown host', 'refused', 'no route'];

const placeOf = ({ hostname, port }: URL) => ({
  host: hostname.replace(/^\[(.*)\]$/, '$1'),
  port: Number(port || '6379'),
});

/** What `event` of `socket` gives, or why there is none; the socket is destroyed. */
const firstOf = async (socket: Socket, event: string): Promise<readonly [unknown, unknown?]> => {
  try {
    const [value]: unknown[] = await inTime((signal) => once(socket, event, { signal }));
    return [value];
  } catch (error) {
    return [undefined, error];
  } finally {
    socket.on('error', () => undefined).destroy();
  }
};

const inTime = <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  withDeadline(work, {
    limitMs: CONNECT_MS,
    clock: systemClock,
    timeoutError: () => new Error('no reply in time'),
  });
