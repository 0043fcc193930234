import {
  isBehaviour,
  isTokenBehaviour,
  listBehaviours,
  tokenBehaviours,
  type Behaviour,
  type TokenBehaviour,
} from '../../emulator/behaviours.ts';
import { pause, type Gate } from './gate.ts';
import type { Soak } from './soak.ts';

// What happens around the service: the provider's lists change, it fails in every way and recovers,
// Redis comes and goes, and an operator asks for refreshes.

/**
 * Without the one whose Retry-After is longer than the longest time for which anything is wrong
 * here.
 */
const TOKEN_FAULTS = Object.keys(tokenBehaviours)
  .filter(isTokenBehaviour)
  .filter((name) => name !== 'rate-limited');
/** Their lists would have to be remembered as {@link Provider} does, or are only a delay. */
const PRESENTED: readonly string[] = ['healthy', 'slow', 'shrunk', 'some-unusable'];
const LIST_FAULTS = Object.keys(listBehaviours)
  .filter(isBehaviour)
  .filter((name) => !PRESENTED.includes(name));

type Episode = () => Promise<void>;

export const startFaults = (gate: Gate, soak: Soak): void => {
  const { provider, redis, oracle, findings } = soak;
  const random = soak.randomFor(5);
  const between = (fromMs: number, untilMs: number): number =>
    fromMs + random() * (untilMs - fromMs);
  /** Every sixth is longer than the list may be served. */
  const lengthMs = (): number =>
    random() < 1 / 6 ? between(28_000, 40_000) : between(3_000, 12_000);

  /** @param status what it must answer; undefined where that is uncertain */
  const refresh = async (
    status: number | undefined,
    query = '',
    token = soak.managementToken,
  ): Promise<void> => {
    const answer = await fetch(`${soak.managementUrl}/refresh${query}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, connection: 'close' },
      signal: AbortSignal.timeout(30_000),
    })
      .then(async (response) => ({ status: response.status, body: await response.text() }))
      .catch((error: unknown) => ({ status: 0, body: String(error) }));
    findings.count('POST /refresh', answer.status);
    if (answer.status === 0 || (status !== undefined && answer.status !== status))
      findings.fail('POST /refresh', `${answer.status} instead of ${status}`, answer.body);
  };

  /** @param begin starts what is wrong; an operator may refresh before it ends */
  const trouble =
    (begin: () => unknown, ms: () => number, refreshShare = 0): Episode =>
    async () => {
      await begin();
      await pause(ms());
      // A forced refresh asks whatever the back-off says, and the back-off goes on.
      if (random() < refreshShare) await refresh(502);
      await provider.end();
    };
  const fail = (name: Behaviour): Episode => {
    const begin = (): Promise<void> => {
      const retryAfter = String(Math.ceil(between(2, 9)));
      const canAsk = name === 'rate-limited' || (name === 'unavailable' && random() < 0.5);
      return provider.begin(name, canAsk ? { retryAfter } : {});
    };
    return trouble(begin, lengthMs, 0.3);
  };
  const failToken = (name: TokenBehaviour): Episode =>
    trouble(() => provider.beginToken(name), lengthMs);
  const beSlow = trouble(
    () => provider.begin('slow', { delayMs: between(100, 500) }),
    () => between(5_000, 15_000),
  );
  const shrink =
    (isAccepted: boolean): Episode =>
    async () => {
      const version = provider.presentHalf();
      await pause(between(6_000, 12_000));
      await refresh(502);
      if (isAccepted) {
        provider.accept(version);
        await refresh(200, '?accept=shrunk');
        await pause(6_000);
      }
      provider.presentAll();
    };
  const all: readonly Episode[] = [
    ...LIST_FAULTS.map(fail),
    ...TOKEN_FAULTS.map(failToken),
    beSlow,
    beSlow,
    shrink(false),
    shrink(true),
  ];
  let deck: Episode[] = [];
  gate.repeat(async (signal) => {
    // Quiet times, in which the provider's list changes: some shorter than a TTL.
    for (let left = between(0, 5); left > 0 && !signal.aborted; left -= 1) {
      await pause(between(2_000, 6_000), signal);
      provider.change();
    }
    if (signal.aborted) return;
    if (deck.length === 0) deck = [...all];
    const [episode] = deck.splice(Math.floor(random() * deck.length), 1);
    await episode?.();
  });

  const stall = async (): Promise<void> => {
    redis.stall();
    await pause(between(1_000, 10_000));
    redis.resume();
  };
  const restart = async (): Promise<void> => {
    await redis.kill();
    await pause(between(0, 15_000));
    await redis.revive();
  };
  const forget = async (): Promise<void> => void (await redis.command('FLUSHALL'));
  const fillWithGarbage = async (): Promise<void> => {
    const script = `for _, key in ipairs(redis.call('keys', '*:list')) do redis.call('set', key, '{garbage') end return 1`;
    await redis.command(`EVAL "${script}" 0`);
  };
  gate.repeat(async (signal) => {
    await pause(between(10_000, 40_000), signal);
    if (signal.aborted) return;
    const fault = [restart, stall, forget, fillWithGarbage][Math.floor(random() * 4)] ?? restart;
    findings.count('Redis', fault.name);
    const end = oracle.troubleRedis();
    await fault();
    end();
  });

  gate.repeat(async (signal) => {
    await pause(between(10_000, 30_000), signal);
    if (signal.aborted) return;
    if (random() < 0.5) await refresh(401, '', `wrong-${random()}`);
    else if (performance.now() > provider.settledAtMs()) await refresh(undefined);
  });
};
