import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { startEmulator, type Emulator } from '../../emulator/emulator.ts';
import { startProcess, type ServiceProcess } from '../kit/process.ts';
import { eventually } from '../kit/rig.ts';

// The largest and the worst lists within PROVIDER_MAX_BODY, against the built service with a small heap: it survives, its
// event loop is never blocked for long, and its memory fits the container.

const MAX_BODY = 5 * 1024 * 1024;
const OLD_SPACE_MB = 96;
const CONTAINER_MB = 256;
const LONGEST_HOLD_MS = 100;
/** Other programs may block the event loop as well, so the best of some renewals counts, of more on a busy machine. */
const RENEWALS = 5;
const MOST_RENEWALS = 25;

/** On SIGUSR2 the service prints for how many milliseconds its event loop was blocked at most since the last time. */
const INSTRUMENT = `
  import { monitorEventLoopDelay } from 'node:perf_hooks';
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  process.on('SIGUSR2', () => {
    process.stderr.write('seen ' + delay.max / 1e6 + '\\n');
    delay.reset();
  });`;

let provider: Emulator;
let service: ServiceProcess;
beforeAll(async () => {
  provider = await startEmulator();
  service = await startProcess(
    {
      PROVIDER_SANDBOX_BASE_URL: provider.baseUrl,
      PROVIDER_TIMEOUT: '5s',
      MANAGEMENT_TOKEN: 'operator-of-the-soak-test-0123456789',
      GUARD_MAX_SHRINK: '100%',
      GUARD_MAX_DRIFT: '100%',
      NODE_OPTIONS: `--max-old-space-size=${OLD_SPACE_MB}`,
    },
    INSTRUMENT,
  );
});
afterAll(async () => {
  await service.end('SIGTERM');
  await provider.close();
});

const refresh = async (): Promise<string> => {
  const answer = await fetch(`${service.urls()[1]}/refresh`, {
    method: 'POST',
    headers: { authorization: 'Bearer operator-of-the-soak-test-0123456789' },
  });
  return answer.text();
};

const longestHoldMs = async (): Promise<number> => {
  const seen = () => [...service.written().matchAll(/seen (.*)\n/g)].map(([, holdMs]) => Number(holdMs));
  const before = seen().length;
  service.child.kill('SIGUSR2');
  await eventually(() => seen().length > before || service.child.exitCode !== null);
  return seen().at(-1) ?? NaN;
};
const peakMb = (): number => {
  const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024;
};

const send = (res: ServerResponse, body: string): void =>
  void res.writeHead(200, { 'content-type': 'application/json' }).end(body);
/** As many copies of an entry as fit, in an array. */
const fill = (entry: string, maxBytes = MAX_BODY): string => {
  const count = Math.floor((maxBytes - 2) / (Buffer.byteLength(entry) + 1));
  return `[${Array<string>(count).fill(entry).join(',')}]`;
};
/** Distinct entries up to both limits. */
const largest = (round: number): string =>
  `[${Array.from({ length: 50_000 }, (_, index) => {
    const entry = `{"code":"${index}","ispb":"${round}","name":"`;
    return `${entry}${'é'.repeat((101 - entry.length) / 2)}"}`;
  }).join(',')}]`;
/** 80 different entries, each with as many copies of a value as it may have. */
const inOneEntry = (value: string): string => {
  const code = fill(value, 65_000);
  const entries = Array.from({ length: 80 }, (_, ispb) => `{"code":${code},"ispb":"${ispb}","name":"a"}`);
  return `[${entries.join(',')}]`;
};
const keys = (): string =>
  fill(`{"code":1,${Array.from({ length: 6_000 }, (_, key) => `"k${key}":0`).join(',')}}`);

/** As many chunks of one byte as the limit allows, and then a list. */
const sendInChunksOfOneByte = (res: ServerResponse): void => {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.flushHeaders();
  const piece = Buffer.from('1\r\n \r\n'.repeat(10_000));
  let left = 500;
  const write = (): void => {
    for (; left > 0; left -= 1)
      if (!res.socket?.write(piece)) {
        left -= 1;
        return void res.socket?.once('drain', write);
      }
    res.socket?.end('25\r\n[{"code":"1","ispb":"1","name":"One"}\r\n1\r\n]\r\n0\r\n\r\n');
  };
  write();
};

test.each<[string, string | ((round: number) => string) | undefined, RegExp]>([
  ['a list at the bounds of entries and bytes', largest, /"count":50000/],
  ['5 MB of empty objects in a published field', inOneEntry('{}'), /"count":80/],
  ['5 MB of field names', keys(), /"count":\d/],
  ['5 MB in chunks of one byte', undefined, /"count":1|timeout/],
])('%s', async (name, bodyOf, outcome) => {
  const holds: number[] = [];
  await longestHoldMs();
  const isQuickOnce = () => Math.min(...holds) < LONGEST_HOLD_MS;
  for (let round = 0; round < RENEWALS || (round < MOST_RENEWALS && !isQuickOnce()); round += 1) {
    const body = typeof bodyOf === 'function' ? bodyOf(round) : bodyOf;
    provider.respondWith((_req, res) => (body === undefined ? sendInChunksOfOneByte(res) : send(res, body)));
    expect(await refresh()).toMatch(outcome);
    holds.push(await longestHoldMs());
  }
  process.stdout.write(
    `${name}: holds of ${holds.map(Math.round).join(', ')} ms, peak ${Math.round(peakMb())} MB\n`,
  );
  expect(Math.min(...holds)).toBeLessThan(LONGEST_HOLD_MS);
  expect(peakMb()).toBeLessThan(CONTAINER_MB);
});
