// When something was wrong, and so what may be late, missing or stale.

export type Troubles = ReturnType<typeof createTroubles>;

/** What is in trouble: the provider, Redis, or the replica that is stopped and killed. */
export type Place = 'provider' | 'redis' | 'struck';

/** Added to each limit: timers are late on a busy machine. */
const SLACK_MS = 2_500;
const HEARTBEAT_MS = 250;
/** A standstill has effects for some seconds. */
const REMEMBERED_HEARTBEATS = 32;

export const createTroubles = () => {
  const periods: { readonly place: Place; readonly fromMs: number; untilMs: number }[] = [];
  const delays: number[] = [];
  let lastMs = performance.now();
  setInterval(() => {
    const nowMs = performance.now();
    delays.push(nowMs - lastMs - HEARTBEAT_MS);
    lastMs = nowMs;
    if (delays.length > REMEMBERED_HEARTBEATS) delays.shift();
  }, HEARTBEAT_MS).unref();
  return {
    /** Begins one; the function that it returns ends it. */
    begin: (place: Place): (() => void) => {
      const period = { place, fromMs: performance.now(), untilMs: Infinity };
      periods.push(period);
      return () => void (period.untilMs = performance.now());
    },
    /** Whether there was trouble in one of `places` at any time between these. */
    between: (fromMs: number, untilMs: number, ...places: readonly Place[]): boolean =>
      periods.some(
        (one) => places.includes(one.place) && one.fromMs <= untilMs && one.untilMs >= fromMs,
      ),
    slackMs: (): number => SLACK_MS + 2 * Math.max(0, ...delays),
  };
};
