import type { Call, TokenCall } from '../provider.ts';
import type { Life } from '../replica.ts';
import { isOpen, perLife, SECOND, type Court } from './facts.ts';

// Judges which token is sent, and when a new one is asked for.

const TOLERANCE_MS = 10;

/** Own to this judge, for each life. */
class Purse {
  /** The last one that was sent. */
  token = '';
  wasRejected = false;
  /** The endpoint asked to be left alone until then. */
  retryAtMs = -Infinity;
  /** Requests since the last one that brought a token. */
  failures = 0;
  /** At this moment a token was sent that is soon over, so that a new one is to be asked for. */
  dueAtMs: number | undefined;
}

export const createTokenJudge = (court: Court) => {
  const { setup, nowMs: now, expect, factsOf } = court;
  const expectInTime = court.expectOf('tokens in their lifetime');
  const purseOf = perLife(() => new Purse());

  const onCall = (life: Life, call: Call): void => {
    if (!setup.usesTokens) {
      expectInTime(call.token === 'simulated', 'not the fixed token');
      return;
    }
    const purse = purseOf(life);
    const token = court.provider().tokens.get(call.token);
    if (purse.token !== call.token) purse.wasRejected = false;
    purse.token = call.token;
    expectInTime(token?.owner === life, 'a token that was never granted to it');
    if (!token) return;
    const endsAtMs = token.issuedAtMs + token.lifetimeMs;
    expectInTime(now() < endsAtMs, 'it has expired');
    const { tokenCall } = factsOf(life);
    if (!tokenCall || isOpen(tokenCall) || purse.wasRejected || token.wasRepeated) return;
    const hasFailed = tokenCall.askedAtMs > token.issuedAtMs;
    const backOffMs = Math.min(60 * SECOND, 1.5 * SECOND * 2 ** (purse.failures - 1));
    const renewAtMs = hasFailed
      ? Math.max(purse.retryAtMs, (tokenCall.endedAtMs ?? now()) + backOffMs)
      : token.issuedAtMs + 0.9 * token.lifetimeMs;
    // The token was chosen a moment before.
    if (now() >= renewAtMs + TOLERANCE_MS) purse.dueAtMs = now();
  };

  const onTokenCall = (life: Life, call: TokenCall): void => {
    const [facts, purse] = [factsOf(life), purseOf(life)];
    const before = facts.tokenCall;
    expect(setup.usesTokens, 'one token request at a time', 'though the token is fixed');
    expect(!isOpen(before), 'one token request at a time', 'two');
    facts.tokenCall = call;
    facts.excuses.token.clear();
    facts.progressAtMs = now();
    purse.dueAtMs = undefined;
    const { tokens } = court.provider();
    const held = tokens.get(purse.token);
    // One that was issued too late was never received, and never sent.
    const hasFailed = before !== undefined && before.askedAtMs > (held?.issuedAtMs ?? -Infinity);
    purse.failures = hasFailed ? purse.failures + 1 : 1;
    if (!held || purse.wasRejected || now() >= held.askedAtMs + held.lifetimeMs) return;
    const newest = [...tokens.values()].findLast(({ owner }) => owner === life);
    if (newest !== held) return;
    expectInTime(now() >= held.askedAtMs + held.lifetimeMs * 0.79, 'renewed too early');
    if (!before || before.askedAtMs <= held.issuedAtMs) return;
    // The last attempt brought nothing.
    // One that does not heed its end has been given up.
    const endedAtMs = Math.min(before.endedAtMs ?? Infinity, before.askedAtMs + setup.timeoutMs);
    const leftMs = held.askedAtMs + held.lifetimeMs - endedAtMs;
    const earliestMs = Math.max(purse.retryAtMs, endedAtMs + Math.min(SECOND, leftMs));
    expect(
      now() >= earliestMs - 2,
      'retries back off',
      () => `the token endpoint is asked ${earliestMs - now()} ms too early`,
    );
  };

  return {
    onCall,
    onTokenCall,
    onUnauthorized: (life: Life) => void (purseOf(life).wasRejected = true),
    onRetryAfter: (life: Life, ms: number) => void (purseOf(life).retryAtMs = now() + ms),
    judgeTimes: (life: Life) => {
      const { dueAtMs } = purseOf(life);
      expectInTime(
        dueAtMs === undefined || now() <= dueAtMs + 5,
        'none is asked for though nine tenths of its life are over',
      );
    },
  };
};
