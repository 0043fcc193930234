import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pause } from './gate.ts';

// The built service as a process of its own, its log, and what it uses of the machine.

export interface Usage {
  readonly rssMb: number;
  readonly cpuMs: number;
  readonly fds: number;
  readonly sockets: number;
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

/** On a signal: memory in and outside the heap after garbage collection. It changes nothing else. */
const TELLS_MEMORY = `
  import { setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc');
  process.on('SIGUSR2', () => {
    for (let turn = 0; turn < 3; turn += 1) collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    process.stdout.write('{"level":20,"held":' + (heapUsed + external) + '}\\n');
  });
`;

/** As in the image. */
const HEAP_MB = 128;
const MIB = 2 ** 20;

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
  const preload = `data:text/javascript,${encodeURIComponent(TELLS_MEMORY)}`;
  const args = [
    `--max-old-space-size=${HEAP_MB}`,
    '--disable-sigusr1',
    '--import',
    preload,
    resolve('dist/src/main.js'),
  ];
  // Node 20 has no --disable-sigusr1.
  const known = process.allowedNodeEnvironmentFlags.has('--disable-sigusr1')
    ? args
    : args.filter((arg) => arg !== '--disable-sigusr1');
  const child = spawn(process.execPath, known, { env, cwd: tmpdir(), stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'close').then(([code]: unknown[]) => (typeof code === 'number' ? code : null));
  let isStopping = false;
  let hasEnded = false;
  let onHeld: (bytes: number) => void = () => undefined;
  let urls: readonly string[] = [];
  child.once('exit', (code, signal) => {
    hasEnded = true;
    if (!isStopping) onEnd(`exit status ${code ?? signal}`);
  });
  process.once('exit', () => child.kill('SIGKILL'));
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{"level":20,"held":')) onHeld(Number(/(\d+)\}$/.exec(line)?.[1]));
    else onLine(line, false);
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
      return (await Promise.race([held, exit.then(() => Number.NaN)])) / MIB;
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

const usageOf = (pid: number): Usage => {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // It has just been closed.
      return undefined;
    }
  });
  const open = links.filter((link) => link !== undefined);
  // proc(5): utime and stime are fields 14 and 15, in ticks of 10 ms; field 2 may contain spaces.
  const [, , , , , , , , , , , user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    rssMb: Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024,
    cpuMs: (Number(user) + Number(system)) * 10,
    fds: open.length,
    sockets: open.filter((link) => link.startsWith('socket:')).length,
  };
};
