import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

// The simulation of the core (docs/testing.md), and whether it can be relied on.

interface Result {
  readonly status: number | null;
  readonly output: string;
}

const simulate = (args: readonly string[], dist = 'dist'): Promise<Result> =>
  new Promise((done) => {
    const child = spawn(process.execPath, [join(dist, 'simulation/main.js'), ...args]);
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
    child.once('close', (status) => done({ status, output: Buffer.concat(chunks).toString() }));
  });

// The seeds are fixed, so that a failure tells of the change that is tested. `npm run simulate` takes fresh ones.
test('whatever happens in whatever order, no promise is broken', async () => {
  const { status, output } = await simulate(['--mode', 'quick', '--seed', '1000', '--days', '8']);
  // Its lines tell the seed, the events and how to repeat them.
  expect(status === 0 ? '' : output).toBe('');
}, 150_000);

test('a run is repeated exactly by its seed', async () => {
  const args = ['--mode', 'rush', '--only', '7', '--trace'];
  const [first, second] = await Promise.all([simulate(args), simulate(args)]);
  const steps = (output: string): string[] => output.split('\n').filter((line) => /^\d\d:\d\d/.test(line));
  expect(steps(first.output).length).toBeGreaterThan(100);
  expect(steps(second.output)).toEqual(steps(first.output));
}, 60_000);

test('a fault in the code is found, and its events are few', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'banks-bff-simulation-'));
  try {
    cpSync('dist', join(copy, 'dist'), { recursive: true });
    for (const name of ['node_modules', 'package.json']) symlinkSync(resolve(name), join(copy, name));
    const path = join(copy, 'dist/src/banks/freshness.js');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('ttlMs + maxStaleMs', 'ttlMs + maxStaleMs + 60_000'));
    const { status, output } = await simulate(
      ['--mode', 'quick', '--seed', '1', '--days', '1000'],
      join(copy, 'dist'),
    );
    expect(status).toBe(1);
    expect(output).toContain('A list older than CACHE_TTL + CACHE_MAX_STALE is never served');
    expect(output).toMatch(/^Repeat: npm run simulate -- .*--only \d+ --keep/m);
    expect(output.match(/^ {2}\d\d:\d\d/gm)?.length ?? 0).toBeLessThan(10);
  } finally {
    rmSync(copy, { recursive: true });
  }
}, 150_000);
