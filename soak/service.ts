import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { heldMbIn, TELLS_HELD_MEMORY } from '../test/kit/held-memory.ts';
import { imageOptions } from '../test/kit/image.ts';
import { pause } from './gate.ts';

// The built service as a process of its own, its log, and what it uses of the machine.

export interface Usage {
  readonly rssMb: number;
  readonly fds: number;
}

export interface Service {
  readonly pid: number;
  readonly publicUrl: string;
  readonly managementUrl: string;
  usage(): Usage;
  /** Megabytes in and outside the heap after garbage collection. */
  heldMb(): Promise<number>;
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit status. */
  stop(): Promise<number | null>;
  readonly hasEnded: boolean;
}

/**
 * Resolves when it listens. `onLine` gets each line of its log, `onEnd` is called if it ends by itself.
 */
export const startService = async (
  env: Readonly<Record<string, string>>,
  {
    onLine,
    onEnd,
  }: { readonly onLine: (line: string, isError: boolean) => void; readonly onEnd: (how: string) => void },
): Promise<Service> => {
  const preload = `data:text/javascript,${encodeURIComponent(TELLS_HELD_MEMORY)}`;
  const args = [...imageOptions(), '--import', preload, resolve('dist/src/main.js')];
  const child = spawn(process.execPath, args, { env, cwd: tmpdir(), stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'close').then(([code]: unknown[]) => (typeof code === 'number' ? code : null));
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
    const [heldMb] = heldMbIn(line);
    if (heldMb === undefined) onLine(line, false);
    else onHeld(heldMb);
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
    pid: child.pid ?? 0,
    publicUrl,
    managementUrl,
    usage: () => usageOf(child.pid ?? 0),
    heldMb: async () => {
      const held = new Promise<number>((onAnswer) => (onHeld = onAnswer));
      child.kill('SIGUSR2');
      return Promise.race([held, exit.then(() => Number.NaN)]);
    },
    signal: (name) => void child.kill(name),
    stop: () => {
      isStopping = true;
      child.kill('SIGTERM');
      return exit;
    },
    get hasEnded() {
      return hasEnded;
    },
  };
};

const usageOf = (pid: number): Usage => ({
  rssMb: Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024,
  fds: readdirSync(`/proc/${pid}/fd`).length,
});
