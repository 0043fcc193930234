import type { Emulator } from '../../emulator/emulator.ts';

/** What every part of the bench is given. */
export interface Bench {
  readonly emulator: Emulator;
  /** The list that the emulator serves. */
  readonly banks: readonly unknown[];
  /** For configuration and caches, on a RAM disk if there is one. */
  readonly directory: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly print: (text: string) => void;
}
