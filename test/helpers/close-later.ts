import { afterEach } from '@jest/globals';

// What a test has opened is closed after it, the last one first, whether or not the test passes.

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

export const closeLater = (...close: readonly (() => unknown)[]): void =>
  void closers.push(...close);
