import { afterEach, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { Agent, request } from 'undici';
import type { Behaviour } from '../../emulator/behaviours.ts';
import { DEFAULT_ACCESS_TOKEN } from '../../emulator/emulator.ts';
import { p99 } from '../kit/p99.ts';
import {
  startEmulatorProcess,
  startProcess,
  type EmulatorProcess,
  type ServiceProcess,
} from '../kit/process.ts';

// Constant load, from before a failure to after it, in real time: what clients see. Latencies are printed but not asserted,
// because they depend on the machine.

const FAILURES: readonly Behaviour[] = [
  'refuse',
  'hang',
  'stall',
  'drip',
  'unauthorized',
  'forbidden',
  'rate-limited',
  'unavailable',
  'redirect',
  'html',
  'not-json',
  'cut-short',
  'empty',
  'shrunk',
  'most-unusable',
  'too-large',
  'gzip-bomb',
  'too-deep',
];
const CLIENTS = 8;

let service: ServiceProcess | undefined;
let emulator: EmulatorProcess | undefined;
const clients = new Agent({ connections: CLIENTS });
afterEach(() => {
  service?.child.kill('SIGKILL');
  emulator?.end();
});

/** Sends requests until stopped; returns latencies by phase, and every distinct response. */
const startLoad = (url: string) => {
  const latencies: Record<string, number[]> = {};
  const answers = new Set<string>();
  let phase = 'healthy';
  const stopping = new AbortController();
  const client = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAtMs = performance.now();
      const { statusCode, body } = await request(`${url}/banks`, { dispatcher: clients });
      const digest = createHash('sha256')
        .update(await body.bytes())
        .digest('hex');
      answers.add(`${statusCode} ${digest}`);
      (latencies[phase] ??= []).push(performance.now() - startedAtMs);
    }
  };
  const running = Promise.all(Array.from({ length: CLIENTS }, client));
  return {
    enter: (name: string): void => void (phase = name),
    stop: async () => {
      stopping.abort();
      await running;
      return { latencies, answers };
    },
  };
};

const describeP99 = (latencies: readonly number[] = []): string =>
  `${p99(latencies).toFixed(1)} ms of ${latencies.length}`;

/** Polls, without a pause, until `condition` holds; the test's time-out bounds it. */
const until = async (condition: () => Promise<boolean>): Promise<void> => {
  while (!(await condition()));
};

test.each(FAILURES)(
  'while the provider does %s, clients see the last good list and nothing else, and the service recovers',
  async (behaviour) => {
    const provider = await startEmulatorProcess();
    emulator = provider;
    const running = await startProcess({
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
      PROVIDER_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
      BANK_FIELDS: 'code,ispb,name',
      CACHE_TTL: '100ms',
      PROVIDER_TIMEOUT: '80ms',
    });
    service = running;
    const [url = ''] = running.urls();
    const health = async (): Promise<string> => (await fetch(`${url}/healthz`)).text();
    await until(async () => (await fetch(`${url}/readyz`)).ok);

    const load = startLoad(url);
    await until(async () => (await provider.listCalls()) >= 4);
    load.enter('failing');
    await provider.behave(behaviour);
    await until(async () => !(await health()).includes('"lastFailure":null'));
    const before = await provider.listCalls();
    // An emulator that refuses connections counts none.
    await until(async () => behaviour === 'refuse' || (await provider.listCalls()) >= before + 3);
    await provider.behave('healthy');
    await until(async () => (await health()).includes('"status":"pass"'));
    const { latencies, answers } = await load.stop();

    expect([...answers]).toEqual([expect.stringMatching(/^200 /)]);
    process.stdout.write(
      `${behaviour}: p99 healthy ${describeP99(latencies['healthy'])}, failing ${describeP99(latencies['failing'])}\n`,
    );
  },
  20_000,
);
