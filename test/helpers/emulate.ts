import { startEmulator, type Emulator, type EmulatorOptions } from '../../emulator/emulator.ts';
import { closeLater } from './close-later.ts';
import { onFreePort } from './free-port.ts';

/**
 * Starts an emulator on a port that nobody else gets while it refuses connections, which it does by
 * closing its listener.
 */
export const openEmulator = (options?: EmulatorOptions): Promise<Emulator> =>
  onFreePort((port) => startEmulator({ port, ...options }));

/** An emulator for one test. */
export const emulate = async (options?: EmulatorOptions): Promise<Emulator> => {
  const emulator = await openEmulator(options);
  closeLater(() => emulator.close());
  return emulator;
};
