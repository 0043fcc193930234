import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Behaviour } from '../../emulator/behaviours.ts';
import type { Environment } from '../../src/config.ts';
import { eventually } from './rig.ts';

// The built service and the built emulator as processes of their own, as they run for people, with every byte that
// they write.

export interface ServiceProcess {
  readonly child: ChildProcess;
  /** Everything written to standard output and standard error so far. */
  written(): string;
  /** The addresses of its listeners. */
  urls(): string[];
  /** Ends it by `signal` and gives the exit status. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts it; resolves when it listens. `preload` is a module's source that runs in the process before the service. */
export const startProcess = async (env: Environment, preload = ''): Promise<ServiceProcess> => {
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(preload)}`, resolve('dist/src/main.js')],
    // Away from the repository, where a person's .env file may be.
    {
      cwd: tmpdir(),
      env: { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = once(child, 'close');
  const written = (): string => Buffer.concat(chunks).toString();
  const urls = (): string[] =>
    written()
      .split('\n')
      .filter((line) => line.includes('"listening"'))
      .flatMap((line) => line.match(/http:\/\/127\.0\.0\.\d+:\d+/g) ?? []);
  await eventually(() => urls().length > 0 || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`the service did not start: ${written()}`);
  return {
    child,
    written,
    urls,
    end: async (signal) => {
      child.kill(signal);
      await closed;
      return child.exitCode;
    },
  };
};

export interface EmulatorProcess {
  readonly baseUrl: string;
  behave(name: Behaviour): Promise<void>;
  listCalls(): Promise<number>;
  end(): void;
}

/** Starts the emulator's program; resolves when it listens. */
export const startEmulatorProcess = async (): Promise<EmulatorProcess> => {
  const child = spawn(process.execPath, [resolve('dist/emulator/main.js')], {
    env: { EMULATOR_PORT: '0', EMULATOR_CONTROL_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output]: unknown[] = await once(child.stdout, 'data');
  const [baseUrl = '', , controlUrl = ''] = String(output).match(/http:\/\/[\d.]+:\d+/g) ?? [];
  return {
    baseUrl,
    behave: async (name) => void (await fetch(`${controlUrl}/behaviour/${name}`, { method: 'PUT' })),
    listCalls: async () => {
      const state: unknown = await (await fetch(controlUrl)).json();
      return Number(/"list":(\d+)/.exec(JSON.stringify(state))?.[1]);
    },
    end: () => void child.kill(),
  };
};
