import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';

// Which `Host` a request to the management port may have. A page on the internet can give its own name the address
// 127.0.0.1 (DNS rebinding) and then counts, for the browser, as the same origin as this port. It cannot change the
// name: the browser sends it in `Host`. Names that no such page can have are allowed, and those that are configured.

/** Whether `host`, the value of a `Host` header or the authority of a target, is one of this port's own. */
export const isManagementHost = (host: string, names: ReadonlySet<string>): boolean => {
  const name = host.toLowerCase().replace(/:\d*$/, '');
  if (name.startsWith('[')) return isIPv6(name.slice(1, -1));
  // No page on the internet has a name without a dot. A trailing dot would make it a top-level domain.
  if (/^[\w-]+$/.test(name)) return true;
  const relative = name.replace(/\.$/, '');
  return isIP(relative) === 4 || relative === 'localhost' || names.has(relative);
};

/**
 * Whether every host that the request names is allowed: that of an absolute target counts before `Host` (RFC 9112
 * section 3.2.2). HTTP/1.0 may name none, as load balancers' checks do; every browser names one.
 */
export const isForManagementHost = (
  { url = '', headers: { host } }: Pick<IncomingMessage, 'url' | 'headers'>,
  names: ReadonlySet<string>,
): boolean => {
  const [, authority] = /^https?:\/\/([^/?#]*)/i.exec(url) ?? [];
  return [host, authority].every((named) => named === undefined || isManagementHost(named, names));
};

/**
 * Whether a request that changes something comes from a page of another origin. Browsers set both headers themselves;
 * what sends neither is not a page in a current browser. `Origin` alone is compared with `Host`, without the scheme,
 * which a proxy in front may have changed.
 */
export const isCrossOrigin = (headers: IncomingMessage['headers']): boolean => {
  const { host = '', origin, 'sec-fetch-site': site } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  if (origin === undefined) return false;
  if (!URL.canParse(origin)) return true;
  const { protocol, host: originHost } = new URL(origin);
  const own = `${protocol}//${host}`;
  return !URL.canParse(own) || new URL(own).host !== originHost;
};
