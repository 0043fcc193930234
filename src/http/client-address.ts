import { isIP, isIPv6 } from 'node:net';
import proxyAddr from 'proxy-addr';
import type { Config } from '../config/config.ts';
import type { RequestHead } from './headers.ts';

// The address of the client that sent a request or opened a connection, behind trusted proxies.

export type ClientAddress = (head: Pick<RequestHead, 'headers' | 'socket'>) => string | undefined;

/**
 * The nearest address that is not a trusted proxy's, for the log: the same as Express's `req.ip`,
 * except that of a long `X-Forwarded-For` only the end counts, which the nearest proxies have
 * written.
 */
export const createClientAddress = (trustProxy: Config['trustProxy']): ClientAddress => {
  // proxy-addr would read the whole header even if nobody is trusted.
  if (trustProxy === undefined) return ({ socket }) => socket.remoteAddress;
  const isTrusted = createIsTrusted(trustProxy);
  // Without an address, the client has already gone.
  return ({ headers, socket }) => {
    if (socket.remoteAddress === undefined) return undefined;
    const given = headers['x-forwarded-for'];
    const forwarded = typeof given === 'string' ? endOfList(given) : undefined;
    return proxyAddr({ headers: { 'x-forwarded-for': forwarded }, socket }, isTrusted);
  };
};

/**
 * The last elements of a list, in {@link MAX_FORWARDED_CHARS}: an element that is cut is left out.
 */
const endOfList = (list: string): string => {
  if (list.length <= MAX_FORWARDED_CHARS) return list;
  const end = list.slice(-MAX_FORWARDED_CHARS);
  return end.slice(end.indexOf(',') + 1 || end.length);
};

/**
 * Six IPv6 addresses. A client can send 15 kB, and each address costs more than the rest of its
 * request.
 */
const MAX_FORWARDED_CHARS = 256;
const MAX_PROXIES = 4;

/**
 * Gives what connections from an address are counted for: a client; undefined: they come from a
 * trusted proxy, and have the requests of many clients. With a number of proxies, every connection
 * comes from one.
 */
export const createClientOf = (
  trustProxy: Config['trustProxy'],
): ((address: string) => string | undefined) => {
  const isTrusted = createIsTrusted(trustProxy);
  return (address) => (isTrusted(address, 0) ? undefined : clientOf(address));
};

/** Whether the address that is `hops` away from this service is a trusted proxy's. */
const createIsTrusted = (
  trustProxy: Config['trustProxy'] = 0,
): ((address: string, hops: number) => boolean) => {
  if (typeof trustProxy === 'number') return (_address, hops) => hops < trustProxy;
  const isInRange = proxyAddr.compile([...trustProxy]);
  // proxy-addr throws and catches an error for what is not an address, which takes 15 µs.
  return (address, hops) => hops < MAX_PROXIES && isIP(address) !== 0 && isInRange(address, hops);
};

/**
 * The client that `address` belongs to: an IPv4 address, or the /64 of an IPv6 one, which is what
 * one customer gets.
 */
export const clientOf = (address: string): string => {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = address.split('::');
  const first = head.split(':').filter(Boolean);
  const last = tail.split(':').filter(Boolean);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last].slice(0, 4).join(':');
};
