import proxyAddr from 'proxy-addr';
import type { Config } from '../config/config.ts';
import type { RequestHead } from './request-head.ts';

// Which address a request came from, as far as the proxies in front are to be believed. For the log only: nothing is
// decided by it.

export type ClientAddress = (head: Pick<RequestHead, 'headers' | 'socket'>) => string | undefined;

/** The nearest address that is no trusted proxy's: Express's `req.ip`, by the package that makes it. */
export const createClientAddress = (trustProxy: Config['trustProxy']): ClientAddress => {
  if (trustProxy === undefined) return ({ socket }) => socket.remoteAddress;
  const isTrusted =
    typeof trustProxy === 'number'
      ? (_address: string, hops: number) => hops < trustProxy
      : proxyAddr.compile([...trustProxy]);
  return (head) => proxyAddr(head, isTrusted);
};
