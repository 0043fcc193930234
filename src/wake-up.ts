/**
 * A signal to wait for. One that comes while nothing waits is remembered, and ends the next wait at
 * once.
 */
export const createWakeUp = () => {
  let isWoken = false;
  let endWait = (): void => {};
  return {
    wake: (): void => {
      isWoken = true;
      endWait();
    },
    /** Forgets a wake-up that has come. */
    forget: (): void => {
      isWoken = false;
    },
    /** Resolves once a wake-up has come since the last `forget`. */
    woken: (): Promise<void> =>
      new Promise((resolve) => {
        if (isWoken) resolve();
        else endWait = resolve;
      }),
  };
};
