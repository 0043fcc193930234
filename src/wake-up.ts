/**
 * Something to wait for, by one who also does other things: a wake-up that comes meanwhile is
 * remembered, so that the wait after it ends at once.
 */
export const createWakeUp = () => {
  let isWoken = false;
  let endWait = (): void => {};
  return {
    wake: (): void => {
      isWoken = true;
      endWait();
    },
    /** From here on only a later wake-up counts. */
    forget: (): void => {
      isWoken = false;
    },
    /** Resolves once there has been one since the last `forget`. */
    woken: (): Promise<void> =>
      new Promise((resolve) => {
        if (isWoken) resolve();
        else endWait = resolve;
      }),
  };
};
