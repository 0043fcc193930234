import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { needProgram } from '../kit/needs.ts';
import { p99 } from '../kit/p99.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { runProgram, type Program } from '../kit/program.ts';

// slowhttptest, with 500 clients that send or read as slowly as they can: what ordinary clients notice.

const SLOW_CLIENTS = 500;
const CLIENTS = 10;
const ROUND_MS = 1_500;
/** The attacker's own processor time is part of the difference on a small machine. */
const MARGIN_MS = 10;

const { program, describeWithIt } = needProgram(
  ['slowhttptest'],
  'On Debian and Ubuntu: apt-get install slowhttptest',
);

describeWithIt(`${SLOW_CLIENTS} slow clients`, () => {
  let provider: Emulator;
  let service: ServiceProcess;
  let attacker: Program | undefined;
  let url: string;
  beforeEach(async () => {
    provider = await startEmulator();
    service = await startProcess({
      MANAGEMENT_PORT: 'off',
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
      PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
      BANK_FIELDS: 'code,ispb,name',
    });
    url = `${service.urls()[0]}/banks`;
  });
  afterEach(async () => {
    attacker?.child.kill('SIGKILL');
    service.child.kill('SIGKILL');
    await provider.close();
  });

  /** The p99 of ordinary clients in milliseconds: the better of two rounds, so that a pause of the machine counts as none. */
  const measureP99 = async (): Promise<number> => {
    const dispatcher = new Agent({ connections: CLIENTS });
    const round = async (): Promise<number> => {
      const durationsMs: number[] = [];
      const untilMs = performance.now() + ROUND_MS;
      const client = async (): Promise<void> => {
        while (performance.now() < untilMs) {
          const startedAtMs = performance.now();
          const { statusCode, body } = await request(url, { dispatcher });
          await body.dump();
          durationsMs.push(performance.now() - startedAtMs);
          expect(statusCode).toBe(200);
          await setTimeout(10);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
      return p99(durationsMs);
    };
    const figures = [await round(), await round()];
    await dispatcher.close();
    return Math.min(...figures);
  };

  test.each([
    ['send their headers', ['-H', '-i', '1', '-x', '8']],
    ['read their answer', ['-X', '-w', '256', '-y', '512', '-n', '1', '-z', '32']],
  ])(
    'that %s slowly do not slow the others down',
    async (what, mode) => {
      await measureP99();
      const alone = await measureP99();
      const options = ['-c', `${SLOW_CLIENTS}`, '-r', `${SLOW_CLIENTS}`, '-l', '20', '-t', 'GET', '-u', url];
      attacker = runProgram(program, { args: [...mode, ...options] });
      await attacker.says(new RegExp(`connected: .*?${SLOW_CLIENTS}`));
      const beside = await measureP99();
      process.stdout.write(`${what}: p99 ${alone.toFixed(2)} ms alone, ${beside.toFixed(2)} ms beside\n`);
      expect(beside).toBeLessThan(2 * alone + MARGIN_MS);
      // Its own verdict, from a probe every second.
      expect(attacker.output()).not.toMatch(/service available: .*?NO/);
    },
    60_000,
  );
});
