import { isIPv6 } from 'node:net';
import proxyAddr from 'proxy-addr';
import type { Config } from '../config/config.ts';
import type { RequestHead } from './headers.ts';

// The address that a request or a connection comes from, as far as proxies are trusted.

export type ClientAddress = (head: Pick<RequestHead, 'headers' | 'socket'>) => string | undefined;

/**
 * The nearest address that is not a trusted proxy's, for the log. The same as Express's `req.ip`, whose package splits the
 * whole header for every request.
 */
export const createClientAddress = (trustProxy: Config['trustProxy']): ClientAddress => {
  if (trustProxy === undefined) return ({ socket }) => socket.remoteAddress;
  const isTrusted =
    typeof trustProxy === 'number'
      ? (_address: string, hops: number) => hops < trustProxy
      : proxyAddr.compile([...trustProxy]);
  return ({ headers, socket }) => {
    const forwarded = headers['x-forwarded-for']?.toString() ?? '';
    let address = socket.remoteAddress;
    let end = forwarded.length;
    for (let hops = 0; address !== undefined && isTrusted(address, hops); hops += 1) {
      let next = '';
      while (next === '' && end > 0) {
        const start = forwarded.lastIndexOf(',', end - 1) + 1;
        next = forwarded.slice(start, end).trim();
        end = start - 1;
      }
      if (next === '') break;
      address = next;
    }
    return address;
  };
};

/**
 * Whether a connection from `address` comes from a trusted proxy, and so has the requests of many clients. With a number of
 * proxies, every connection comes from one.
 */
export const createIsProxy = (trustProxy: Config['trustProxy']): ((address: string) => boolean) => {
  if (trustProxy === undefined) return () => false;
  if (typeof trustProxy === 'number') return () => trustProxy > 0;
  const isTrusted = proxyAddr.compile([...trustProxy]);
  return (address) => isTrusted(address, 0);
};

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
