import type { Clock } from './clock.ts';

export interface Deadline {
  readonly limitMs: number;
  readonly clock: Clock;
  /** What the promise rejects with after `limitMs`. */
  readonly timeoutError: () => Error;
  /** Ends the work early; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `work` and gives up on it after `limitMs` or when `signal` aborts, whether it obeys its own
 * signal or not. Work is not begun for a signal that has aborted already.
 * @throws what `work` rejects with, `timeoutError()`, or the reason of `signal`
 */
export const withDeadline = async <T>(
  work: (signal: AbortSignal) => Promise<T>,
  { limitMs, clock, timeoutError, signal }: Deadline,
): Promise<T> => {
  signal?.throwIfAborted();
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const giveUp = (reason: unknown): void => {
      end();
      reject(reason);
      controller.abort(reason);
    };
    const onAbort = (): void => giveUp(signal?.reason);
    const cancel = clock.after(limitMs, () => giveUp(timeoutError()));
    signal?.addEventListener('abort', onAbort);
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    // Also where the work throws before it returns a promise.
    void Promise.resolve(controller.signal).then(work).then(resolve, reject).finally(end);
  });
};
