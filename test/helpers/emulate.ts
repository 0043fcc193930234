import { startEmulator, type Emulator, type EmulatorOptions } from '../../emulator/emulator.ts';
import { closeLater } from './close-later.ts';

/** An emulator for one test. */
export const emulate = async (options?: EmulatorOptions): Promise<Emulator> => {
  const emulator = await startEmulator(options);
  closeLater(() => emulator.close());
  return emulator;
};
