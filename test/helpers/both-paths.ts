import { expect } from '@jest/globals';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { sendRaw, type RawAnswer, type RawOptions } from './raw-http.ts';
import { openRig, type Rig } from './rig.ts';
import { eventually } from './wait-until.ts';

// The same service twice, with HOT_PATH=on and off, and with a list: both must answer with the same
// bytes.

export interface BothPaths {
  readonly hot: Rig;
  readonly express: Rig;
  readonly emulator: Emulator;
  readonly clock: ManualClock;
  /**
   * Sends `bytes` to both, and gives the answers, which are the same but for the id that a request
   * is given, and the date.
   */
  readonly ask: (
    bytes: string,
    options?: Pick<RawOptions, 'keepOpen'>,
  ) => Promise<readonly RawAnswer[]>;
  readonly close: () => Promise<void>;
}

export const startBothPaths = async (env: EnvironmentVariables = {}): Promise<BothPaths> => {
  const clock = createManualClock();
  // A list is rarely received at a whole second, which is all that an HTTP-date can say.
  clock.skip(250);
  const emulator = await startEmulator({ now: () => clock.wallMs() });
  const start = async (hotPath: string): Promise<Rig> => {
    const rig = await openRig({ provider: emulator, clock, env: { ...env, HOT_PATH: hotPath } });
    await eventually(() => rig.service.list.served() !== undefined);
    return rig;
  };
  const [hot, express] = [await start('on'), await start('off')];
  return {
    hot,
    express,
    emulator,
    clock,
    ask: async (bytes, given) => {
      const options = { ...given, methods: [bytes.startsWith('HEAD') ? 'HEAD' : 'GET'] };
      const [answers, others] = await Promise.all(
        [hot, express].map(({ url }) => sendRaw(url, bytes, options)),
      );
      expect(answers?.map(comparable)).toEqual(others?.map(comparable));
      return answers ?? [];
    },
    close: async () => {
      for (const rig of [hot, express]) await rig.close();
      await emulator.close();
    },
  };
};

const comparable = ({ head, body }: RawAnswer): string =>
  `${head.replace(/^date: .*$/im, 'Date').replace(/^x-request-id: [\da-f-]{36}$/im, 'X-Request-Id')}\n${body}`;
