import type { Life } from '../replica.ts';
import { isOpen, SECOND, type Court } from './facts.ts';

// Judges which token is sent, and when a new one is asked for.

const TOLERANCE_MS = 10;

export const createTokenJudge = (court: Court) => {
  const { setup, nowMs: now, news, expect, provider } = court;
  const expectInTime = court.expectOf('tokens in their lifetime');

  news.on('call', (life, call) => {
    if (!setup.usesTokens) {
      expectInTime(call.token === 'simulated', 'not the fixed token');
      return;
    }
    const { facts } = life;
    const { tokenCall } = facts;
    const token = provider.tokens.get(call.token);
    if (facts.token !== call.token) facts.wasRejected = false;
    facts.token = call.token;
    expectInTime(token?.owner === life, 'a token that was never granted to it');
    if (!token) return;
    const endsAtMs = token.issuedAtMs + token.lifetimeMs;
    expectInTime(now() < endsAtMs, 'it has expired');
    if (!tokenCall || isOpen(tokenCall) || facts.wasRejected || token.wasRepeated) return;
    const hasFailed = tokenCall.askedAtMs > token.issuedAtMs;
    const backOffMs = Math.min(60 * SECOND, 1.5 * SECOND * 2 ** (facts.tokenFailures - 1));
    const renewAtMs = hasFailed
      ? Math.max(facts.retryTokenAtMs, (tokenCall.endedAtMs ?? now()) + backOffMs)
      : token.issuedAtMs + 0.9 * token.lifetimeMs;
    // The token was chosen a moment before.
    if (now() >= renewAtMs + TOLERANCE_MS) facts.tokenDueAtMs = now();
  });

  news.on('token call', (life, call) => {
    const { facts } = life;
    const before = facts.tokenCall;
    expect(setup.usesTokens, 'one token request at a time', 'though the token is fixed');
    expect(!isOpen(before), 'one token request at a time', 'two');
    facts.tokenCall = call;
    facts.excuses.token.clear();
    facts.progressAtMs = now();
    facts.tokenDueAtMs = undefined;
    const { tokens } = provider;
    const held = tokens.get(facts.token);
    // One that was issued too late was never received, and never sent.
    const hasFailed = before !== undefined && before.askedAtMs > (held?.issuedAtMs ?? -Infinity);
    facts.tokenFailures = hasFailed ? facts.tokenFailures + 1 : 1;
    if (!held || facts.wasRejected || now() >= held.askedAtMs + held.lifetimeMs) return;
    const newest = [...tokens.values()].findLast(({ owner }) => owner === life);
    if (newest !== held) return;
    expectInTime(now() >= held.askedAtMs + held.lifetimeMs * 0.79, 'renewed too early');
    if (!before || before.askedAtMs <= held.issuedAtMs) return;
    // The last attempt brought nothing.
    // One that does not heed its end has been given up.
    const endedAtMs = Math.min(before.endedAtMs ?? Infinity, before.askedAtMs + setup.timeoutMs);
    const leftMs = held.askedAtMs + held.lifetimeMs - endedAtMs;
    const earliestMs = Math.max(facts.retryTokenAtMs, endedAtMs + Math.min(SECOND, leftMs));
    expect(
      now() >= earliestMs - 2,
      'retries back off',
      () => `the token endpoint is asked ${earliestMs - now()} ms too early`,
    );
  });
  news.on('unauthorized', ({ facts }) => void (facts.wasRejected = true));
  news.on('Retry-After', ({ facts }, ms, from) => {
    if (from === 'token') facts.retryTokenAtMs = now() + ms;
  });

  const judgeTimes = ({ facts: { tokenDueAtMs } }: Life): void =>
    expectInTime(
      tokenDueAtMs === undefined || now() <= tokenDueAtMs + 5,
      'none is asked for though nine tenths of its life are over',
    );
  return { judgeTimes };
};
