import type { ChildProcess } from 'node:child_process';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Behaviour, TokenBehaviour } from '../../emulator/behaviours.ts';
import type { Environment } from '../../src/config/reader.ts';
import { runNode, type NodeOptions, type Program } from './program.ts';

// The built service and the built emulator as separate processes, with every byte that they write.

export interface ServiceProcess {
  readonly child: ChildProcess;
  /** Everything written to standard output and standard error so far. */
  readonly written: () => string;
  /** The addresses of its listeners. */
  readonly urls: () => string[];
  /** Sends `signal` and resolves with the exit status. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>;
}

/** Runs the service on free ports of loopback. `preload` is a module's source that runs in the process before it. */
export const runService = (
  env: Environment,
  { preload = '', ...options }: NodeOptions & { readonly preload?: string } = {},
): Program =>
  runNode(resolve('dist/src/main.js'), {
    // Not in the repository, where a developer's .env file may be.
    cwd: tmpdir(),
    ...options,
    args: ['--import', `data:text/javascript,${encodeURIComponent(preload)}`],
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      MANAGEMENT_PORT: '0',
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_ACCESS_TOKEN: 'emulator-access-token',
      BANK_FIELDS: 'code,ispb,name',
      ...env,
    },
  });

/** Starts it; resolves when it listens. `preload` as for {@link runService}. */
export const startProcess = async (env: Environment, preload = ''): Promise<ServiceProcess> => {
  const program = runService(env, { preload });
  await program.says(/"listening"[^\n]*\n/);
  const { child, exit } = program;
  const written = (): string => program.output();
  const urls = (): string[] =>
    written()
      .split('\n')
      .filter((line) => line.includes('"listening"'))
      .flatMap((line) => line.match(/http:\/\/127\.0\.0\.\d+:\d+/g) ?? []);
  return {
    child,
    written,
    urls,
    end: (signal) => {
      child.kill(signal);
      return exit;
    },
  };
};

export interface EmulatorProcess {
  readonly baseUrl: string;
  readonly tokenUrl: string;
  behave(name: Behaviour): Promise<void>;
  behaveToken(name: TokenBehaviour): Promise<void>;
  listCalls(): Promise<number>;
  end(): void;
}

/** Starts the emulator's program; resolves when it listens. */
export const startEmulatorProcess = async (): Promise<EmulatorProcess> => {
  const emulator = runNode(resolve('dist/emulator/main.js'), {
    env: { EMULATOR_PORT: '0', EMULATOR_CONTROL_PORT: '0' },
  });
  const { input } = await emulator.says(/Control API .*\n/);
  const [baseUrl = '', , controlUrl = ''] = input.match(/http:\/\/[\d.]+:\d+/g) ?? [];
  return {
    baseUrl,
    tokenUrl: `${baseUrl}/oauth/token`,
    behaveToken: async (name) =>
      void (await fetch(`${controlUrl}/token-behaviour/${name}`, { method: 'PUT' })),
    behave: async (name) => void (await fetch(`${controlUrl}/behaviour/${name}`, { method: 'PUT' })),
    listCalls: async () => {
      const state: unknown = await (await fetch(controlUrl)).json();
      return Number(/"list":(\d+)/.exec(JSON.stringify(state))?.[1]);
    },
    end: () => void emulator.child.kill(),
  };
};
