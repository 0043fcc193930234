import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Environment } from '../../src/config/reader.ts';
import { SANDBOX } from './sandbox.ts';
import { runNode, type NodeOptions, type Program } from './program.ts';

// The built service as a process of its own, with every byte that it writes.

export type ServiceProcess = Awaited<ReturnType<typeof startProcess>>;

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
    env: { ...SANDBOX, ...env },
  });

/** Starts it; resolves when it listens. `preload` as for {@link runService}. */
export const startProcess = async (env: Environment, preload = '') => {
  const { child, end, output, says } = runService(env, { preload });
  await says(/"listening"[^\n]*\n/);
  return {
    child,
    /** Everything written to standard output and standard error so far. */
    written: output,
    /** The addresses of its listeners. */
    urls: (): string[] =>
      output()
        .split('\n')
        .filter((line) => line.includes('"listening"'))
        .flatMap((line) => line.match(/http:\/\/127\.0\.0\.\d+:\d+/g) ?? []),
    end,
  };
};
