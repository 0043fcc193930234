import { setTimeout } from 'node:timers/promises';

/**
 * Reads a value again and again until it is the wanted one, and returns it.
 * @param awaited what is awaited, for the error message
 * @throws {Error} with the last value, after `limitMs`
 */
export const waitUntil = async <T>(
  awaited: string,
  read: () => T | Promise<T>,
  isWanted: (value: T) => boolean,
  limitMs = 60_000,
): Promise<T> => {
  const giveUpAtMs = performance.now() + limitMs;
  for (;;) {
    const value = await read();
    if (isWanted(value)) return value;
    if (performance.now() > giveUpAtMs)
      throw new Error(`${awaited}: not within ${limitMs} ms; last seen: ${JSON.stringify(value)}`);
    await setTimeout(5);
  }
};

/**
 * Waits until real input and output make `condition` true.
 * @throws {Error} with its source, after a minute
 */
export const eventually = async (condition: () => boolean | Promise<boolean>): Promise<void> =>
  void (await waitUntil(condition.toString(), condition, Boolean));
