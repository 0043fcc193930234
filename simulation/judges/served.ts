import type { ListStatus } from '../../src/banks/bank-list.ts';
import type { HeldList } from '../../src/banks/cached-list.ts';
import type { Delivery } from '../provider.ts';
import type { Life } from '../replica.ts';
import { textOf, TOLERANCE_MS, type Court, type Facts } from './facts.ts';
import type { GuardJudge } from './guard.ts';

// Judges what is served: that the provider sent it, that it may replace what was served before, and how old it is.

/** How far ahead the clock of another replica may be. */
const MOST_LEAD_MS = 61_000;

export const createServedJudge = (court: Court, guard: GuardJudge) => {
  const { nowMs: now, news, expect, origins, setup, provider, redis } = court;
  const expectAge = court.expectOf('ages are true');
  const expectSent = court.expectOf('only what the provider sent');

  news.on('list-renewed', (life, { list }) => {
    const { facts } = life;
    const { delivery, origin } = facts;
    expectSent(delivery?.version.published === textOf(list), 'a renewed list');
    if (!delivery) return;
    const isLate = !facts.isOwn && origin !== undefined && origin.askedAtMs > delivery.askedAtMs;
    expect(!isLate, 'no answer to an earlier question', 'replaces what another replica loaded');
    guard.onTaken(life, list);
    origins.add(list, delivery);
    facts.renewal = delivery;
    facts.isGenuine = true;
    facts.attempts = 0;
    hold(facts, list, delivery, true);
  });

  news.on('list-restored', (life, { list, state }) => {
    const { facts } = life;
    const text = textOf(list);
    expectSent(provider.versions.byPublished(text) !== undefined, 'a restored list');
    const genuine = origins.find(list.receivedAtMs, text);
    const origin = genuine ?? origins.latest(text);
    // A forged time may be believed once it has come; until then the list counts as very old.
    const isForged = redis.forgedAtMs() >= 0 && (!genuine || !facts.isGenuine);
    facts.isGenuine = genuine !== undefined;
    guard.onTaken(life, list);
    if (facts.held && facts.origin && origin && (list.acceptedAtMs ?? 0) <= (facts.held.acceptedAtMs ?? 0))
      expect(
        court.wallSpreadMs > TOLERANCE_MS ||
          isForged ||
          origin.deliveredAtMs >= facts.origin.deliveredAtMs - 2 * TOLERANCE_MS,
        'never back to an older list',
        'restored',
      );
    if (state === 'fresh') facts.attempts = 0;
    hold(facts, list, origin, false);
  });

  const hold = (facts: Facts, list: HeldList, origin: Delivery | undefined, isOwn: boolean): void => {
    const { held = list } = facts;
    const isKept = (list.acceptedAtMs ?? 0) >= (held.acceptedAtMs ?? 0);
    expect(isKept, 'an accepted list stays', 'the decision is lost');
    const backMs = textOf(held) === textOf(list) ? 0 : held.changedAtMs - list.changedAtMs;
    expect(backMs <= 0, 'Last-Modified never goes back', () => `by ${backMs} ms`);
    facts.held = list;
    facts.origin = origin;
    facts.heldAtMs = now();
    facts.isOwn = isOwn;
    facts.progressAtMs = now();
  };

  /** What a replica shows after a step. */
  const inspect = (life: Life, { ageMs, held, state }: ListStatus): void => {
    const { facts } = life;
    const isServed = life.core.list.served() !== undefined;
    const ttlMs = court.ttlOf(life);
    const limitMs = ttlMs + setup.maxStaleMs;
    expect(held === facts.held, 'what is told is what is served', 'a list was replaced without an event');
    expectAge((ageMs === undefined) === (held === undefined), 'no list, or no age');
    if (ageMs === undefined || held === undefined) return;
    expect(isServed === ageMs <= limitMs, 'nothing too old is served', () => `${ageMs} ms`);
    const expected = ageMs <= ttlMs ? 'fresh' : ageMs <= limitMs ? 'stale' : 'expired';
    expectAge(state === expected, () => `${state} at ${ageMs} ms`);
    if (!facts.origin) return;
    const sinceMs = now() - facts.origin.deliveredAtMs;
    // A list with times that cannot be true, by any clock of the fleet, is used as a stale one.
    const isOfTheFuture = held.receivedAtMs > court.world.wallMs() + court.wallSpreadMs + MOST_LEAD_MS;
    if (!facts.isGenuine && !isOfTheFuture) return;
    const trueMs = facts.isGenuine ? sinceMs : Math.min(sinceMs, ttlMs + 1);
    // Redis tells ages whatever the clocks show; a snapshot cannot.
    const spreadMs = setup.hasSnapshot || redis.forgedAtMs() >= 0 ? court.wallSpreadMs : TOLERANCE_MS;
    const tolerance = facts.isOwn ? 2 : TOLERANCE_MS + spreadMs;
    const isTrue = ageMs >= trueMs - tolerance && (!facts.isOwn || ageMs <= trueMs + tolerance);
    expectAge(isTrue, () => `${ageMs} ms instead of ${trueMs} ms`);
  };

  return { inspect };
};
