import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

// The programs that are measured: they run on the first CPU, and their total cost is read from
// /proc.

export interface Running {
  /** User and system time of all its processes so far, in microseconds. */
  cpuUs(): number;
  /** The same to the nanosecond, but without threads that have ended. */
  preciseCpuUs(): number;
  /** Resident memory of all its processes, in megabytes. */
  rssMb(): number;
  /** The most resident memory of its processes since resetPeakRss(), in megabytes. */
  peakRssMb(): number;
  resetPeakRss(): void;
  stop(): Promise<void>;
}

/** The measured program runs on this CPU; the load comes from the other one. */
const SERVER_CPU = '0';
export const LOAD_CPU = '1';
export const ALL_CPUS = '0,1';

type Variables = Readonly<Record<string, string>>;

/** Starts each command and discards its output. Its environment is PATH and `env`. */
export const start = async (
  commands: readonly (readonly string[])[],
  env: Variables = {},
  cpuList = SERVER_CPU,
): Promise<Running> => {
  const children: ChildProcess[] = [];
  for (const command of commands) {
    const child = spawn('taskset', ['-c', cpuList, ...command], {
      stdio: ['ignore', 'ignore', 'ignore'],
      env: { PATH: '/usr/sbin:/usr/bin:/bin', ...env },
    });
    children.push(child);
    // Varnish's log reader needs a running Varnish.
    if (commands.length > 1) await wait(1_500);
  }
  const pids = (): number[] =>
    children.flatMap(({ pid }) => (pid === undefined ? [] : withChildren(pid)));
  return {
    cpuUs: () => sum(pids().map(cpuUsOf)),
    preciseCpuUs: () => sum(pids().map(preciseCpuUsOf)),
    rssMb: () => sum(pids().map((pid) => memoryMbOf(pid, 'VmRSS'))),
    peakRssMb: () => sum(pids().map((pid) => memoryMbOf(pid, 'VmHWM'))),
    // proc(5): 5 sets VmHWM to the current VmRSS.
    resetPeakRss: () => pids().forEach((pid) => writeFileSync(`/proc/${pid}/clear_refs`, '5')),
    stop: async () => {
      await Promise.all(
        children.toReversed().map(async (child) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const exited = new Promise((resolve) => child.once('exit', resolve));
          child.kill('SIGTERM');
          const cancel = new AbortController();
          await Promise.race([
            exited,
            wait(3_000, undefined, { signal: cancel.signal }).catch(() => undefined),
          ]);
          cancel.abort();
          child.kill('SIGKILL');
        }),
      );
    },
  };
};

const withChildren = (pid: number): number[] => {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim();
  return [
    pid,
    ...(children === '' ? [] : children.split(' ').flatMap((child) => withChildren(Number(child)))),
  ];
};

/** proc(5): utime and stime are fields 14 and 15, in ticks of 10 ms; field 2 may contain spaces. */
const cpuUsOf = (pid: number): number => {
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10_000;
};

/**
 * The kernel's documentation of schedstats: the first figure is the time on a CPU, in nanoseconds.
 */
const preciseCpuUsOf = (pid: number): number =>
  sum(
    readdirSync(`/proc/${pid}/task`).map((thread) =>
      Number.parseInt(read(`/proc/${pid}/task/${thread}/schedstat`) || '0', 10),
    ),
  ) / 1_000;

const memoryMbOf = (pid: number, field: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(read(`/proc/${pid}/status`))?.[1] ?? 0) /
  1_024;

/** The mean of the two CPUs. proc(5): the eighth figure of a CPU's line, in ticks of 10 ms. */
export const stolenSeconds = (): number => {
  const lines = read('/proc/stat').split('\n');
  const ticks = [SERVER_CPU, LOAD_CPU].map((cpu) =>
    Number(lines.find((line) => line.startsWith(`cpu${cpu} `))?.split(' ')[8] ?? 0),
  );
  return sum(ticks) / ticks.length / 100;
};

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has just ended.
    return '';
  }
};

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0);

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

/** Of an even count, the mean of the two in the middle; NaN of none. */
export const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
};

/** Waits until `url` answers with 200. */
export const waitUntilReady = async (url: string): Promise<void> => {
  for (let left = 400; left > 0; left -= 1) {
    const response = await fetch(url).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.status === 200) return;
    await wait(50);
  }
  throw new Error(`${url} never answered with 200`);
};
