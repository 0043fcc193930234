import { readFileSync } from 'node:fs';
import { startEmulator, type Emulator, type EmulatorOptions } from '../../emulator/emulator.ts';
import { closeLater } from './close-later.ts';
import { onFreePort } from './free-port.ts';

/** The emulator's own list. */
export const ALL_BANKS: readonly Readonly<Record<string, string>>[] = JSON.parse(
  readFileSync('emulator/banks.json', 'utf8'),
);

/**
 * The list of an emulator of the tests: the first of the emulator's own banks. To read and compress
 * all of them takes longer than most tests.
 */
export const BANKS = ALL_BANKS.slice(0, 120);
/** How many of them the emulator replaces with junk when it does `some-unusable`. */
export const UNUSABLE = 6;

/**
 * Starts an emulator on a port that nobody else gets while it refuses connections, which it does by
 * closing its listener.
 */
export const openEmulator = (options?: EmulatorOptions): Promise<Emulator> =>
  onFreePort((port) => startEmulator({ port, banks: BANKS, ...options }));

/** An emulator for one test. */
export const emulate = async (options?: EmulatorOptions): Promise<Emulator> => {
  const emulator = await openEmulator(options);
  closeLater(() => emulator.close());
  return emulator;
};

/** This many different banks with the fields that the rig publishes. */
export const makeBanks = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({
    code: String(index),
    ispb: String(10_000_000 + index),
    name: `Banco ${index}`,
  }));
