import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { closeLater } from './close-later.ts';
import { SANDBOX } from './sandbox.ts';
import { runNode, type NodeOptions, type Program } from './program.ts';

// The built service as a process of its own, with every byte that it writes. It is killed after the
// test.

export type ServiceProcess = Awaited<ReturnType<typeof startProcess>>;

/**
 * Runs the service on free ports of loopback. `preload` is a module's source that runs in the
 * process before it.
 */
export const runService = (
  env: EnvironmentVariables,
  { preload = '', ...options }: NodeOptions & { readonly preload?: string } = {},
): Program => {
  const program = runNode(resolve('dist/src/main.js'), {
    // Not in the repository, where a developer's .env file may be.
    cwd: tmpdir(),
    ...options,
    args: [
      ...(options.args ?? []),
      '--import',
      `data:text/javascript,${encodeURIComponent(preload)}`,
    ],
    env: { ...SANDBOX, ...env },
  });
  closeLater(() => program.child.kill('SIGKILL'));
  return program;
};

/**
 * In the log line of a service that listens: its address, and that of its management port unless it
 * is off.
 */
export const LISTENING = /"url":"([^"]+)"(?:,"managementUrl":"([^"]+)")?/;

/** Starts it; resolves when it listens. `preload` as for {@link runService}; `args` are Node's. */
export const startProcess = async (
  env: EnvironmentVariables,
  preload = '',
  args: readonly string[] = [],
) => {
  const { child, end, output, says } = runService(env, { preload, args });
  const [, url = '', managementUrl = ''] = await says(LISTENING);
  return {
    child,
    end,
    url,
    managementUrl,
    /** Everything that it has written so far. */ written: output,
  };
};
