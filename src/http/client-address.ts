import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';
import type { Config } from '../config/config.ts';
import type { RequestHead } from './headers.ts';

// The address of the client that sent a request, behind as many proxies as are trusted, for both
// paths. Trust is compiled as Express's `trust proxy` compiles it. Express's own `req.ip` would
// read a whole long X-Forwarded-For, and pass on text that is no address.

/**
 * Undefined if it is not known: the client has gone, or a trusted proxy has written something that
 * is no address, such as an empty text. The address of the last trusted proxy if that has sent no
 * `X-Forwarded-For`, or one whose entry is longer than is read.
 */
export type ClientAddress = (head: Pick<RequestHead, 'headers' | 'socket'>) => string | undefined;

export const createClientAddress = (trustProxy: Config['trustProxy']): ClientAddress => {
  const isTrusted = createIsTrusted(trustProxy);
  return ({ headers, socket }) => {
    let address = socket.remoteAddress;
    const entries = entriesOf(headers['x-forwarded-for']);
    for (let hops = 0; address !== undefined && isTrusted(address, hops); hops += 1) {
      const entry = entries.pop();
      if (entry === undefined) break;
      address = addressIn(entry.trim());
    }
    return address;
  };
};

/** Whether the address that is `hops` away from this service is a trusted proxy's. */
const createIsTrusted = (
  trustProxy: Config['trustProxy'] = 0,
): ((address: string, hops: number) => boolean) => {
  if (typeof trustProxy === 'number') return (_address, hops) => hops < trustProxy;
  const isInRange = proxyAddr.compile([...trustProxy]);
  return (address, hops) => hops < MAX_PROXIES && isInRange(address, hops);
};

/** Each address that is looked up in ranges costs a tenth of a request. */
const MAX_PROXIES = 4;

/**
 * The last entries of `X-Forwarded-For`, which the nearest proxies have written: a client can send
 * 15 kB of them. One that is cut is left out.
 */
const entriesOf = (header: string | string[] | undefined): string[] => {
  if (typeof header !== 'string') return [];
  const entries = header.slice(-MAX_FORWARDED_CHARS).split(',');
  return header.length > MAX_FORWARDED_CHARS ? entries.slice(1) : entries;
};

/** Six IPv6 addresses. */
const MAX_FORWARDED_CHARS = 256;

/** The IP address in an entry, without the port that some proxies add. */
const addressIn = (entry: string): string | undefined => {
  if (isIP(entry) !== 0) return entry;
  const [, inBrackets = '', beforePort = ''] = WITH_PORT.exec(entry) ?? [];
  return [inBrackets, beforePort].find((address) => isIP(address) !== 0);
};

/** `[2001:db8::7]`, `[2001:db8::7]:443` and `198.51.100.7:443`. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;
