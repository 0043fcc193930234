import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Clock } from '../clock.ts';
import type { ManagementRefusal } from '../telemetry/metrics.ts';
import { isCrossOrigin } from './host.ts';
import { sendProblem } from '../http/problems.ts';

// Changes through the management port need the token. A wrong token costs its sender time, and no other client.

export interface ManagementTokenOptions {
  /** Gives the valid token; undefined: the operation is off. */
  readonly token: (() => Promise<string>) | undefined;
  readonly clock: Clock;
  readonly onRefusal: (reason: ManagementRefusal) => void;
}

/** How long a wrong token waits for its 401. */
const WRONG_TOKEN_DELAY_MS = 1_000;
/** With so many wrong tokens waiting, the next request is refused unread: four guesses a second from one address. */
const MAX_WAITING_PER_ADDRESS = 4;
/** And 32 a second in all; for each, one connection and one timer are held. */
const MAX_WAITING = 32;

/**
 * Lets a request through that carries the token (RFC 6750 section 2.1). A wrong one gets its 401 after a delay. While
 * too many wrong ones wait, no token from their address is checked, not even the right one: a quick answer would
 * reveal it. That ends a second after the last wrong token, and other addresses do not notice.
 */
export const createTokenCheck = ({ token, clock, onRefusal }: ManagementTokenOptions): RequestHandler => {
  const waiting = createWaiting(clock);
  return async (req, res, next) => {
    if (token === undefined) {
      sendProblem(res, 'refresh_disabled');
      return;
    }
    if (isCrossOrigin(req.headers)) {
      onRefusal('cross_origin');
      sendProblem(res, 'cross_origin');
      return;
    }
    const [, given] = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
    // First, so that nothing can happen between the check of `waiting` and the wait.
    const expected = await token();
    // The socket's address, and not that of X-Forwarded-For, which anybody can choose.
    const address = req.socket.remoteAddress ?? '';
    if (given !== undefined && waiting.isFull(address)) {
      onRefusal('too_many_attempts');
      res.setHeader('Retry-After', Math.ceil(WRONG_TOKEN_DELAY_MS / 1_000));
      // Fewer guesses a connection, and no queue of them behind this one.
      res.setHeader('Connection', 'close');
      sendProblem(res, 'too_many_attempts');
      return;
    }
    if (given !== undefined && isSame(given, expected)) {
      next();
      return;
    }
    onRefusal(given === undefined ? 'no_token' : 'wrong_token');
    const refuse = (): void => {
      res.setHeader('WWW-Authenticate', 'Bearer');
      sendProblem(res, 'unauthorized');
    };
    // A request without a token is not a guess.
    if (given === undefined) refuse();
    else waiting.add(address, refuse);
  };
};

/** The refusals that wait. One whose client has gone still takes its place, or going away would be a way to hurry. */
const createWaiting = (clock: Clock) => {
  const byAddress = new Map<string, number>();
  let total = 0;
  const countOf = (address: string): number => byAddress.get(address) ?? 0;
  return {
    isFull: (address: string): boolean => total >= MAX_WAITING || countOf(address) >= MAX_WAITING_PER_ADDRESS,
    add: (address: string, refuse: () => void): void => {
      total += 1;
      byAddress.set(address, countOf(address) + 1);
      clock.after(WRONG_TOKEN_DELAY_MS, () => {
        total -= 1;
        if (countOf(address) > 1) byAddress.set(address, countOf(address) - 1);
        else byAddress.delete(address);
        refuse();
      });
    },
  };
};

/** Compares in a time that reveals nothing about either text. */
const isSame = (given: string, expected: string): boolean => timingSafeEqual(sha256(given), sha256(expected));

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
