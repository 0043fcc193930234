import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import type { RequestHandler } from 'express';
import type { Clock } from '../clock.ts';
import { clientOf } from '../http/client-address.ts';
import { authorityOf, MAX_HOST_LENGTH } from '../http-front/index.ts';
import type { Middleware } from '../http/app.ts';
import { sendProblem } from '../http/problems.ts';
import type { ManagementRefusedEvent } from '../telemetry/events.ts';

// Who may use the management port. Every request needs a host name that is this port's; a change
// needs the token, and may not come from a page of another origin. A wrong token costs its sender
// time, and no other client.

export type OnRefusal = (reason: ManagementRefusedEvent['reason']) => void;

/**
 * Refuses requests for another host name. A page on the internet can give its own name the address
 * 127.0.0.1 (DNS rebinding) and then counts, for the browser, as the same origin as this port. It
 * cannot change the name: the browser sends it in `Host`. Names that no such page can have are
 * allowed, and those that are configured.
 *
 * Every host in the request must be allowed: the one in an absolute target takes precedence over
 * `Host` (RFC 9112 section 3.2.2). HTTP/1.0 may name none, as load balancers' checks do; every
 * browser names one.
 */
export const createHostCheck = (hosts: readonly string[], onRefusal: OnRefusal): Middleware => {
  const names = new Set(hosts);
  return ({ url = '', headers: { host } }, res, next) => {
    if (
      [host, authorityOf(url)].every(
        (named) => named === undefined || isManagementHost(named, names),
      )
    ) {
      next();
      return;
    }
    onRefusal('host');
    sendProblem(res, 'host_not_allowed');
  };
};

/**
 * Whether `host`, the value of a `Host` header or the authority of a target, is one of this port's
 * own.
 */
const isManagementHost = (host: string, names: ReadonlySet<string>): boolean => {
  const name = host.toLowerCase().replace(/:\d*$/, '');
  if (name.startsWith('[')) return isIPv6(name.slice(1, -1));
  // No page on the internet has a name without a dot. A trailing dot would make it a top-level
  // domain.
  if (/^[\w-]+$/.test(name)) return true;
  const relative = name.replace(/\.$/, '');
  return isIP(relative) === 4 || relative === 'localhost' || names.has(relative);
};

/**
 * Whether a request that changes something comes from a page of another origin. Browsers set both
 * headers themselves; what sends neither is not a page in a current browser. `Origin` alone is
 * compared with `Host`, without the scheme, which a proxy in front may have changed.
 */
const isCrossOrigin = (headers: IncomingMessage['headers']): boolean => {
  const { host = '', origin, 'sec-fetch-site': site } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  if (origin === undefined) return false;
  // No page has a longer origin, which could take long to parse.
  if (origin.length > MAX_ORIGIN_LENGTH || !URL.canParse(origin)) return true;
  const { protocol, host: originHost } = new URL(origin);
  const ownOrigin = `${protocol}//${host}`;
  return !URL.canParse(ownOrigin) || new URL(ownOrigin).host !== originHost;
};

const MAX_ORIGIN_LENGTH = 'https://'.length + MAX_HOST_LENGTH;

/** How long a wrong token waits for its 401. */
const WRONG_TOKEN_DELAY_MS = 1_000;
/**
 * While this many wrong tokens of a client wait, its next wrong one is refused at once, and its
 * connection closed.
 */
const MAX_WAITING_PER_CLIENT = 4;
/** The same for all clients together: each takes a connection and a timer. */
const MAX_WAITING = 32;

/**
 * Lets a request through that carries the token (RFC 6750 section 2.1), whatever others send. A
 * wrong one gets its 401 after a delay. The length of the token keeps it from being guessed; the
 * delay keeps the cost of guesses low.
 * @param readToken gives the valid one, and rejects while its file is not usable; undefined: the
 *   operation is off
 */
export const createTokenCheck = (
  readToken: (() => Promise<string>) | undefined,
  { clock }: { readonly clock: Clock },
  onRefusal: OnRefusal,
): RequestHandler => {
  /**
   * The client of each delayed 401. It still counts after the client has disconnected; otherwise
   * disconnecting would avoid the delay.
   */
  const waiting: string[] = [];
  return async (req, res, next) => {
    if (!readToken) {
      sendProblem(res, 'refresh_disabled');
      return;
    }
    if (isCrossOrigin(req.headers)) {
      onRefusal('cross_origin');
      sendProblem(res, 'cross_origin');
      return;
    }
    const [, given] = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
    // While its file is not usable, no token is valid.
    const expected = await readToken().catch(() => undefined);
    if (expected === undefined) {
      onRefusal('no_token');
      sendProblem(res, 'refresh_disabled', { detail: WITHDRAWN });
      return;
    }
    if (given !== undefined && isSame(given, expected)) {
      next();
      return;
    }
    // The socket's address, and not that of X-Forwarded-For, which anybody can choose.
    const client = clientOf(req.socket.remoteAddress ?? '');
    const companions = waiting.filter((each) => each === client).length;
    const refuse = (): void => {
      res.setHeader('WWW-Authenticate', 'Bearer');
      sendProblem(res, 'unauthorized');
    };
    // A request without a token is not a guess.
    if (given === undefined) {
      onRefusal('no_token');
      refuse();
    } else if (waiting.length >= MAX_WAITING || companions >= MAX_WAITING_PER_CLIENT) {
      onRefusal('too_many_attempts');
      res.setHeader('Retry-After', Math.ceil(WRONG_TOKEN_DELAY_MS / 1_000));
      // Limits the guesses per connection, and leaves none waiting behind this one.
      res.setHeader('Connection', 'close');
      sendProblem(res, 'too_many_attempts');
    } else {
      onRefusal('wrong_token');
      waiting.push(client);
      clock.after(WRONG_TOKEN_DELAY_MS, () => {
        // All wait equally long, so this is the first.
        waiting.shift();
        refuse();
      });
    }
  };
};

const WITHDRAWN =
  'MANAGEMENT_TOKEN_FILE is not usable, so no token authorises this operation; the status page says why.';

/** Compares in a time that reveals nothing about either text. */
const isSame = (given: string, expected: string): boolean =>
  timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
