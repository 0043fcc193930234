import { setTimeout as wait } from 'node:timers/promises';
import type { Behaviour, TokenBehaviour } from '../../emulator/behaviours.ts';
import type { RedisServer } from '../../test/helpers/redis-process.ts';
import type { Findings } from './findings.ts';
import { MAX_STALE_MS, RECOVERY_MS, TTL_MS } from './judge.ts';
import type { Provider } from './provider.ts';
import type { Replica } from './replica.ts';
import type { Troubles } from './troubles.ts';

// What goes wrong: in one loop the provider, in another one Redis and one of the replicas.

/** With these the provider gives no list that may be served: one of each kind of failure. */
const LIST_FAULTS: readonly Behaviour[] = [
  'refuse',
  'hang',
  'stall',
  'cut-short',
  'unauthorized',
  'rate-limited',
  'server-error',
  'html',
  'too-deep',
  'gzip-bomb',
  'most-unusable',
  'renamed-field',
  'echo',
];
/** With these it gives no token that can be used. */
const TOKEN_FAULTS: readonly TokenBehaviour[] = [
  'hang',
  'server-error',
  'invalid-client',
  'rejected-token',
];
export const MANAGEMENT_TOKEN = 'soak-operator-Zq8+token.4711';

export interface Stage {
  readonly provider: Provider;
  readonly redis: RedisServer;
  readonly steady: Replica;
  readonly struck: Replica;
  readonly troubles: Troubles;
  readonly findings: Findings;
}

/** Runs until `signal` aborts and all is well again. */
export const causeFaults = async (
  stage: Stage,
  random: () => number,
  signal: AbortSignal,
): Promise<void> => {
  const { provider, redis, steady, struck, troubles, findings } = stage;
  const { emulator } = provider;
  const between = (fromMs: number, untilMs: number): number =>
    fromMs + random() * (untilMs - fromMs);
  const pause = (ms: number): Promise<unknown> =>
    wait(ms, undefined, { signal }).catch(() => undefined);
  /** Calls each in a random order, before it begins again. */
  const repeat = async (faults: readonly (() => Promise<void>)[]): Promise<void> => {
    let deck: (() => Promise<void>)[] = [];
    while (!signal.aborted) {
      if (deck.length === 0) deck = [...faults];
      await deck.splice(Math.floor(random() * deck.length), 1)[0]?.();
    }
  };

  /** An operator's refresh must be answered with one of `statuses`. */
  const refresh = async (query: string, ...statuses: readonly number[]): Promise<void> => {
    const fromMs = performance.now() - RECOVERY_MS;
    const response = await fetch(`${steady.managementUrl}/refresh${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${MANAGEMENT_TOKEN}`, connection: 'close' },
    });
    const text = await response.text();
    findings.count(`POST /refresh${query}: ${response.status}`);
    const isExcused = troubles.between(fromMs, performance.now(), 'redis', 'struck');
    if (!statuses.includes(response.status) && !isExcused)
      findings.violate(`POST /refresh${query}: ${response.status}`, text);
  };

  /** Every fifth outage is longer than a list may be served. */
  const outage = (begin: () => Promise<void> | void) => async (): Promise<void> => {
    const end = troubles.begin('provider');
    await begin();
    const isLong = random() < 0.2;
    await pause(isLong ? TTL_MS + MAX_STALE_MS + between(2_000, 8_000) : between(3_000, 10_000));
    if (random() < 0.3) await refresh('', 502, 503, 504);
    await emulator.behave('healthy');
    emulator.behaveToken('healthy');
    end();
    await recover();
  };
  /** The list changes, in less time than a TTL and in more. */
  const recover = async (): Promise<void> => {
    for (const untilMs = performance.now() + RECOVERY_MS; performance.now() < untilMs;) {
      await pause(between(1_000, TTL_MS));
      if (signal.aborted) return;
      provider.change();
    }
  };
  const failList = (name: Behaviour) =>
    outage(async () => {
      findings.count(`the provider: ${name}`);
      const retryAfter = String(Math.ceil(between(1, 4)));
      await emulator.behave(name, name === 'rate-limited' ? retryAfter : '');
    });
  const failToken = (name: TokenBehaviour) =>
    outage(() => {
      findings.count(`the token: ${name}`);
      emulator.behaveToken(name);
      emulator.revokeIssued();
    });
  /** Half of the banks are gone, and in the end an operator accepts it. */
  const shrink = async (): Promise<void> => {
    // With nothing to serve, the guard has nothing to compare with.
    const isServed = performance.now() - provider.lastGoodMs(Infinity) < TTL_MS + RECOVERY_MS;
    if (!isServed) return recover();
    const end = troubles.begin('provider');
    const half = provider.presentHalf();
    await pause(between(3_000, 8_000));
    await refresh('', 502);
    half.isRefused = false;
    await refresh('?accept=shrunk', 200);
    provider.change();
    end();
    return recover();
  };

  /** Something of Redis or of the replica `struck` is wrong, for less time than `maxMs`. */
  const trouble =
    (
      place: 'redis' | 'struck',
      name: string,
      maxMs: number,
      fault: (ms: number) => Promise<unknown>,
    ) =>
    async (): Promise<void> => {
      await pause(between(2_000, 8_000));
      if (signal.aborted) return;
      findings.count(`${place}: ${name}`);
      const end = troubles.begin(place);
      await fault(between(0, maxMs));
      end();
    };

  await Promise.all([
    repeat([...LIST_FAULTS.map(failList), ...TOKEN_FAULTS.map(failToken), shrink, shrink, shrink]),
    repeat([
      trouble('redis', 'stalls', 8_000, async (ms) => {
        redis.stall();
        await pause(ms);
        redis.resume();
      }),
      trouble('redis', 'is killed and comes back empty', 8_000, async (ms) => {
        await redis.kill();
        await pause(ms);
        await redis.revive();
      }),
      trouble('redis', 'forgets everything', 1, () => redis.command('FLUSHALL')),
      trouble('redis', 'has garbage', 1, () =>
        redis.command(
          `EVAL "for _, key in ipairs(redis.call('keys', '*:list')) do redis.call('set', key, '{garbage') end return 1" 0`,
        ),
      ),
      trouble('struck', 'is stopped', 8_000, async (ms) => {
        struck.stop();
        await pause(ms);
        struck.resume();
      }),
      trouble('struck', 'is killed', 4_000, async (ms) => {
        await struck.end('SIGKILL');
        await pause(ms);
        await struck.start();
      }),
    ]),
  ]);
};
