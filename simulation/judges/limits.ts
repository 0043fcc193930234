import { getEventListeners } from 'node:events';
import type { ListStatus } from '../../src/banks/bank-list.ts';
import type { Promised } from '../promises.ts';
import type { Life } from '../replica.ts';
import { ENCODING_MS, isOpen, NOTHING, SECOND, STORE_MS, type Court } from './facts.ts';

// Judges how much is done and left behind, and what happens at a stop and after it.

const MOST_IN_A_SECOND = { commands: 80, timers: 120 };

export const createLimitJudge = (court: Court) => {
  const { nowMs: now, news, expect, redis } = court;
  const expectQuiet = court.expectOf('quiet after a stop');
  const expectNothingLeft = court.expectOf('nothing is left behind');
  let stepsAtOnce = { atMs: 0, count: 0 };

  const count = (life: Life, what: keyof typeof NOTHING): void => {
    const { done, refreshes } = life.facts;
    const second = Math.floor(now() / SECOND);
    // Refreshes that were asked for before count in this second as well.
    if (done.second !== second) Object.assign(done, NOTHING, { second, refreshes: refreshes.size });
    done[what] += 1;
    const isCalm =
      done.commands <= MOST_IN_A_SECOND.commands &&
      done.timers <= MOST_IN_A_SECOND.timers + 10 * done.refreshes &&
      // Each load is a token, a call, and both again; a stale list from Redis must be loaded anew.
      done.calls <= 4 * (1 + done.refreshes + done['stale lists']);
    expect(isCalm, 'nobody spins', () => JSON.stringify(done));
    expectQuiet(life.state !== 'stopped', () => `one of its ${what}`);
  };

  const judgeTimes = (life: Life, { nextLoadInMs }: ListStatus): void => {
    const { facts } = life;
    const connections = redis.connectionsOf(life);
    const isIdle =
      life.state === 'running' &&
      nextLoadInMs > 0 &&
      facts.arrivals.size === 0 &&
      !isOpen(facts.tokenCall) &&
      now() - facts.progressAtMs > 5 * SECOND;
    // The next load, the connection to Redis and an operation of it; and each request that waits has one.
    const most = isIdle && life.lateMs(now() - 5 * SECOND) === 0 ? 4 : 12;
    expectNothingLeft(life.timers <= most + facts.arrivals.size, () => `${life.timers} timers`);
    expectNothingLeft(connections <= 2, () => `${connections} connections`);
    if (life.state === 'stopping') {
      const boundMs = 4 * STORE_MS + ENCODING_MS + 4 * life.replica.disk.slowMs + 20 * SECOND;
      const tookMs = now() - life.stateSinceMs;
      expect(tookMs <= boundMs + life.lateMs(life.stateSinceMs), 'a stop ends', () => `${tookMs} ms`);
    }
    if (life.state !== 'stopped') return;
    expectQuiet(life.timers === 0, () => `${life.timers} timers are left`);
    expectQuiet(connections === 0, 'a connection is left');
    expectQuiet(!isOpen(facts.call), 'a call is left');
  };

  /** The provider or the token endpoint is asked. */
  const onCall = (life: Life): void => {
    count(life, 'calls');
    expect(life.state !== 'stopping', 'no load after a stop', 'a call');
  };

  news.on('call', onCall).on('token call', onCall);
  news.on('command', (life) => count(life, 'commands'));
  news.on('timer', (life) => count(life, 'timers'));
  news.on('disk', (life) => expectQuiet(life.state !== 'stopped', 'the disk'));
  news.on('told', (life, type) => expectQuiet(life.state !== 'stopped', () => `told ${type}`));
  news.on('list-restored', (life) => {
    // Also one that is fresh for hardly any longer is loaded anew at once.
    if ((life.core.list.status().ageMs ?? 0) >= 0.99 * court.ttlOf(life)) count(life, 'stale lists');
  });
  news.on('step', () => {
    if (stepsAtOnce.atMs === now()) stepsAtOnce.count += 1;
    else stepsAtOnce = { atMs: now(), count: 0 };
    expect(stepsAtOnce.count < 3_000, 'nobody spins', 'time stands still');
  });
  return { count, judgeTimes };
};

export type LimitJudge = ReturnType<typeof createLimitJudge>;

/** No signal collects listeners, and no rejected promise is without a handler. @returns a function that ends the watch */
export const watchProcess = (broken: (promised: Promised, details: string) => void): (() => void) => {
  const onRejection = (reason: unknown): void =>
    broken('rejections are handled', reason instanceof Error ? (reason.stack ?? '') : String(reason));
  process.on('unhandledRejection', onRejection);
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the target that it is called on
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (this: EventTarget, ...args: Parameters<typeof add>) {
    add.apply(this, args);
    if (this instanceof AbortSignal && getEventListeners(this, 'abort').length > 8)
      broken('nothing is left behind', 'listeners of a signal');
  };
  return () => {
    process.off('unhandledRejection', onRejection);
    EventTarget.prototype.addEventListener = add;
  };
};
