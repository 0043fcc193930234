import { afterEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { Agent, request } from 'undici';
import type { Behaviour } from '../emulator/behaviours.ts';
import { eventually, startRig, type Rig } from './kit/rig.ts';

// Load that never pauses, from before a failure to after it, in real time: what its clients see. The latencies are
// printed, not judged: a test machine's are its own.

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

let rig: Rig;
const clients = new Agent({ connections: CLIENTS });
afterEach(() => rig.close());

/** Asks without a pause until stopped, and gives what was answered: latencies by phase, and every distinct answer. */
const startLoad = () => {
  const latencies: Record<string, number[]> = {};
  const answers = new Set<string>();
  let phase = 'healthy';
  const stopping = new AbortController();
  const client = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAtMs = performance.now();
      const { statusCode, body } = await request(`${rig.url}/banks`, { dispatcher: clients });
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

const p99 = (latencies: readonly number[] = []): string => {
  const sorted = latencies.toSorted((a, b) => a - b);
  return `${(sorted[Math.floor(sorted.length * 0.99)] ?? NaN).toFixed(1)} ms of ${sorted.length}`;
};

describe.each(FAILURES)('while the provider does %s', (behaviour) => {
  test('clients under load see the last good list and nothing else, and the service recovers by itself', async () => {
    rig = await startRig({
      realTime: true,
      env: { CACHE_TTL: '100ms', PROVIDER_TIMEOUT: '80ms', LOG_LEVEL: 'silent' },
    });
    const { list } = rig.service;
    await eventually(() => list.served() !== undefined);

    const load = startLoad();
    const { calls } = rig.emulator;
    await eventually(() => calls.length >= 4);
    load.enter('failing');
    await rig.emulator.behave(behaviour);
    const healthyCalls = calls.length;
    await eventually(() => list.status().failure !== undefined);
    await eventually(() => behaviour === 'refuse' || calls.length >= healthyCalls + 3);
    await rig.emulator.behave('healthy');
    await eventually(() => list.status().failure === undefined);
    const { latencies, answers } = await load.stop();

    expect([...answers]).toEqual([expect.stringMatching(/^200 /)]);
    expect(rig.emulator.maxConcurrentListCalls).toBe(1);
    process.stdout.write(
      `${behaviour}: p99 healthy ${p99(latencies['healthy'])}, failing ${p99(latencies['failing'])}\n`,
    );
  });
});
