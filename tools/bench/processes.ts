import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

// The measured programs: they share one CPU, the load generator has the other, and what they use is
// read from /proc (proc(5)).

const SERVER_CPU = '0';
export const LOAD_CPU = '1';

export interface Running {
  /** User and system time of all its processes so far, in microseconds. */
  cpuUs(): number;
  /** The most resident memory of its processes so far, in megabytes. */
  peakRssMb(): number;
  stop(): Promise<void>;
}

type Variables = Readonly<Record<string, string>>;

/** Starts each command, discards its output, and waits until `url` answers with 200. */
export const start = async (
  commands: readonly (readonly string[])[],
  env: Variables,
  url: string,
): Promise<Running> => {
  const children = commands.map((command) =>
    spawn('taskset', ['-c', SERVER_CPU, ...command], {
      stdio: 'ignore',
      env: { PATH: '/usr/sbin:/usr/bin:/bin', ...env },
    }),
  );
  const pids = (): number[] => children.flatMap(({ pid }) => (pid ? withChildren(pid) : []));
  const running = {
    cpuUs: () => sum(pids().map(cpuUsOf)),
    peakRssMb: () => sum(pids().map(peakRssMbOf)),
    stop: async () => {
      for (const child of children.toReversed()) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const exited = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGTERM');
        await Promise.race([exited, wait(3_000, undefined, { ref: false })]);
        child.kill('SIGKILL');
      }
    },
  };
  try {
    await waitUntilReady(url);
  } catch (error) {
    await running.stop();
    throw new Error(`${commands[0]?.join(' ')} does not answer`, { cause: error });
  }
  return running;
};

const waitUntilReady = async (url: string): Promise<void> => {
  const giveUpAtMs = performance.now() + 20_000;
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.status === 200) return;
    if (performance.now() > giveUpAtMs) throw new Error(`${url} never answered with 200`);
    await wait(50);
  }
};

const withChildren = (pid: number): number[] => {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean);
  return [pid, ...children.flatMap((child) => withChildren(Number(child)))];
};

/** utime and stime are fields 14 and 15, in ticks of 10 ms; field 2 may contain spaces. */
const cpuUsOf = (pid: number): number => {
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10_000;
};

const peakRssMbOf = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1_024;

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
