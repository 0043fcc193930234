import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { imageOptions } from '../../test/helpers/image.ts';
import { pause } from './gate.ts';

// The built service as a process of its own, its log, and what it uses of the machine.

/**
 * A module to preload: on SIGUSR2 it writes a line with the bytes in and outside the heap after
 * garbage collection.
 */
const TELLS_HELD_MEMORY = `
  process.on('SIGUSR2', () => {
    for (let turn = 0; turn < 3; turn += 1) gc();
    const { heapUsed, external } = process.memoryUsage();
    process.stdout.write('{"held":' + (heapUsed + external) + '}\\n');
  });
`;

/**
 * Resolves when it listens. `onLine` gets each line of its log, which is not kept here; `onEnd` is
 * called if the service ends by itself.
 */
export const startService = async (
  env: Readonly<Record<string, string>>,
  onLine: (line: string, isError: boolean) => void,
  onEnd: (how: string) => void,
) => {
  const preload = `data:text/javascript,${encodeURIComponent(TELLS_HELD_MEMORY)}`;
  const args = [...imageOptions(), '--expose-gc', '--import', preload, resolve('dist/src/main.js')];
  const child = spawn(process.execPath, args, {
    env,
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  const exit = once(child, 'close').then(([status]: unknown[]) => status);
  let isStopping = false;
  let hasEnded = false;
  let onHeld: (mb: number) => void = () => undefined;
  let urls: readonly string[] = [];
  child.once('exit', (code, signal) => {
    hasEnded = true;
    if (!isStopping) onEnd(`exit status ${code ?? signal}`);
  });
  process.once('exit', () => child.kill('SIGKILL'));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [, held] = /^\{"held":(\d+)\}$/.exec(line) ?? [];
    if (held === undefined) onLine(line, false);
    else onHeld(Number(held) / 2 ** 20);
    if (urls.length < 2 && line.includes('"listening"'))
      urls = line.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? [];
  });
  createInterface({ input: child.stderr }).on('line', (line) => onLine(line, true));
  while (urls.length < 2) {
    if (hasEnded) throw new Error('the service did not start');
    await pause(20);
  }
  const [publicUrl = '', managementUrl = ''] = urls;
  return {
    pid,
    publicUrl,
    managementUrl,
    hasEnded: () => hasEnded,
    rssMb: () =>
      Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024,
    openFiles: () => readdirSync(`/proc/${pid}/fd`).length,
    /** Megabytes in and outside the heap after garbage collection. */
    heldMb: async (): Promise<number> => {
      const held = new Promise<number>((onAnswer) => (onHeld = onAnswer));
      child.kill('SIGUSR2');
      return Promise.race([held, exit.then(() => Number.NaN)]);
    },
    /** Resolves with the exit status. */
    stop: (): Promise<unknown> => {
      isStopping = true;
      child.kill('SIGTERM');
      return exit;
    },
  };
};
