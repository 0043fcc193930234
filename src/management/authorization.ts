import { hash, timingSafeEqual } from 'node:crypto';
import { isIP, isIPv6 } from 'node:net';
import type { RequestHandler } from 'express';
import { sendProblem } from '../http/problem-details.ts';
import type { ManagementRefusedEvent } from '../telemetry/events.ts';

// Who may use the management port. Every request needs a host name that is this port's; a change
// needs the token. Refusals are counted. Nothing slows guesses: a token has at least 16 characters.

export type OnRefusal = (reason: ManagementRefusedEvent['reason']) => void;

/**
 * Refuses requests for another host name. A page on the internet can give its own name the address
 * 127.0.0.1 (DNS rebinding) and then counts, for the browser, as the same origin as this port. It
 * cannot change the name: the browser sends it in `Host`. Names that no such page can have are
 * allowed, and those that are configured. HTTP/1.0 may name none, as load balancers' checks do;
 * every browser names one.
 */
export const createHostCheck = (hosts: readonly string[], onRefusal: OnRefusal): RequestHandler => {
  const names = new Set(['localhost', ...hosts]);
  return ({ headers: { host } }, res, next) => {
    if (host === undefined || isManagementHost(host, names)) {
      next();
      return;
    }
    onRefusal('host');
    sendProblem(res, 'host_not_allowed');
  };
};

const isManagementHost = (host: string, names: ReadonlySet<string>): boolean => {
  const name = host.toLowerCase().replace(/:\d*$/, '');
  if (name.startsWith('[')) return isIPv6(name.slice(1, -1));
  // No page on the internet has a name without a dot. A trailing dot would make it a top-level
  // domain.
  if (/^[\w-]+$/.test(name)) return true;
  const relative = name.replace(/\.$/, '');
  return isIP(relative) === 4 || names.has(relative);
};

/**
 * Lets a request through that carries the token (RFC 6750 section 2.1). A page of another origin
 * has none, and browsers send no `Authorization` across origins without a permission that this port
 * never gives.
 * @param readToken gives the valid one, and rejects while its file is not usable; undefined: the
 *   operation is off
 */
export const createTokenCheck =
  (readToken: (() => Promise<string>) | undefined, onRefusal: OnRefusal): RequestHandler =>
  async (req, res, next) => {
    if (!readToken) {
      sendProblem(res, 'refresh_disabled');
      return;
    }
    const [, given] = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
    // While its file is not usable, no token is valid.
    const expected = await readToken().catch(() => undefined);
    if (expected !== undefined && given !== undefined && isSame(given, expected)) {
      next();
      return;
    }
    onRefusal(given === undefined ? 'no_token' : 'wrong_token');
    if (expected === undefined) {
      sendProblem(res, 'refresh_disabled', { detail: WITHDRAWN });
      return;
    }
    res.setHeader('WWW-Authenticate', 'Bearer');
    sendProblem(res, 'unauthorized');
  };

const WITHDRAWN =
  'MANAGEMENT_TOKEN_FILE is not usable, so no token authorises this operation; the status page says why.';

/** Compares in a time that reveals nothing about either text. */
const isSame = (given: string, expected: string): boolean =>
  timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', expected, 'buffer'));
