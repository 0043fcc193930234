import { isIPv6 } from 'node:net';
import proxyAddr from 'proxy-addr';
import type { Config } from '../config/config.ts';
import type { RequestHead } from './headers.ts';

// The address that a request or a connection comes from, as far as proxies are trusted.

export type ClientAddress = (head: Pick<RequestHead, 'headers' | 'socket'>) => string | undefined;

/** The nearest address that is not a trusted proxy's, for the log: the same as Express's `req.ip`. */
export const createClientAddress = (trustProxy: Config['trustProxy']): ClientAddress => {
  // proxy-addr would read the whole header even if nobody is trusted.
  if (trustProxy === undefined) return ({ socket }) => socket.remoteAddress;
  const isTrusted = createIsTrusted(trustProxy);
  // Without an address, the client has already gone.
  return (head) => (head.socket.remoteAddress === undefined ? undefined : proxyAddr(head, isTrusted));
};

/**
 * Whether a connection from `address` comes from a trusted proxy, and so has the requests of many clients. With a number of
 * proxies, every connection comes from one.
 */
export const createIsProxy = (trustProxy: Config['trustProxy']): ((address: string) => boolean) => {
  const isTrusted = createIsTrusted(trustProxy);
  return (address) => isTrusted(address, 0);
};

/** Whether the address that is `hops` away from this service is a trusted proxy's. */
const createIsTrusted = (
  trustProxy: Config['trustProxy'] = 0,
): ((address: string, hops: number) => boolean) =>
  typeof trustProxy === 'number' ? (_address, hops) => hops < trustProxy : proxyAddr.compile([...trustProxy]);

/** The client that `address` belongs to: an IPv4 address, or the /64 of an IPv6 one, which is what one customer gets. */
export const clientOf = (address: string): string => {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = address.split('::');
  const [before, behind] = [head, tail].map((groups) => groups.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - (before?.length ?? 0) - (behind?.length ?? 0) }, () => '0');
  return [...(before ?? []), ...zeros, ...(behind ?? [])].slice(0, 4).join(':');
};
