import type { Life } from '../replica.ts';
import { ENCODING_MS, isOpen, RECONNECT_MS, SECOND, STORE_MS, type Court } from './facts.ts';

// Judges the lease: who has it, for how long, and that it is given back when the list is there for the next owner.

export const createLeaseJudge = (court: Court) => {
  const { setup, nowMs: now, news, redis } = court;
  const expectLease = court.expectOf('a lease only while loading');
  const { timeoutMs } = setup;
  const owners = new Map<string, Life>();

  news.on('lease', (life, isGranted, lifeMs, name) => {
    if (!life.isAlive) return;
    const isRight = lifeMs >= timeoutMs + 100 && lifeMs <= 2 * timeoutMs + SECOND;
    expectLease(isRight, () => `asked for ${lifeMs} ms`);
    if (!owners.has(name)) owners.set(name, life);
    expectLease(owners.get(name) === life, 'two replicas have one name');
    if (isGranted) life.facts.progressAtMs = now();
  });

  // The next owner is to find the list.
  news.on('lease returned', (life) => {
    const { held, isOwn, origin, heldAtMs, callHasLease, attempts, saved } = life.facts;
    const isNews = isOwn && callHasLease && attempts === 0 && now() - heldAtMs < 5 * SECOND;
    if (!isNews || !origin || life.state !== 'running') return;
    if (redis.calmForMs() < RECONNECT_MS || !life.core.list.served()) return;
    const { sharedList } = court;
    expectLease(
      // Who read an older list just before may have written over it since; the message of that brings it back.
      saved === origin ||
        (sharedList !== undefined &&
          (sharedList.origin.deliveredAtMs >= origin.deliveredAtMs - SECOND ||
            // What an operator has accepted elsewhere has replaced it at once.
            sharedList.acceptedAtMs > (held?.acceptedAtMs ?? 0))),
      'it is given back before the list is written',
    );
  });

  // The last step of a new connection: what was claimed over the old one is given back by then.
  news.on('command', (life, command) => {
    const isLeft = command === 'subscribe' && redis.lease()?.owner === life;
    expectLease(!isLeft, 'a new connection leaves a claim of the old one');
  });

  news.on('step', () => {
    const lease = redis.lease();
    if (!lease?.owner?.isAlive) return;
    const life = lease.owner;
    const calmMs = redis.calmForMs();
    if (life.state === 'stopped') {
      const wasCalm = calmMs > now() - life.askedToStopAtMs + RECONNECT_MS;
      expectLease(!wasCalm, 'it is not given back at the stop');
    }
    if (life.state !== 'running' || calmMs <= now() - lease.writtenAtMs || life.writes > 0) return;
    const { call, tokenCall, progressAtMs, callHasLease, refreshes } = life.facts;
    // With a refresh that waits for the load, nobody outside knows whose load it is.
    const mayHaveLease = callHasLease || refreshes.size > 0;
    if ((isOpen(call) && mayHaveLease) || isOpen(tokenCall)) return;
    const sinceMs = Math.max(
      lease.writtenAtMs,
      progressAtMs,
      mayHaveLease ? (call?.endedAtMs ?? 0) : 0,
      tokenCall?.endedAtMs ?? 0,
    );
    const heldMs = now() - sinceMs;
    const boundMs = ENCODING_MS + 2 * STORE_MS;
    if (heldMs < boundMs) return;
    expectLease(heldMs < boundMs + life.lateMs(sinceMs), () => `for ${heldMs} ms`);
  });
};
