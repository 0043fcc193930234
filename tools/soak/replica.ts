import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort } from '../../test/helpers/free-port.ts';
import { imageOptions } from '../../test/helpers/image.ts';

// One process of the built service, which keeps its ports and is started again after it was killed.

export type Replica = Awaited<ReturnType<typeof startReplica>>;

/** `onLine` gets each line that it writes; `onEnd` is called if it ends by itself. */
export const startReplica = async (
  name: 'steady' | 'struck',
  env: Readonly<Record<string, string>>,
  onLine: (line: string) => void,
  onEnd: (how: string) => void,
) => {
  const [port, managementPort] = [await findFreePort(), await findFreePort()];
  const args = [...imageOptions(), resolve('dist/src/main.js')];
  let child: ChildProcess;
  const start = async (): Promise<void> => {
    const started = spawn(process.execPath, args, {
      // Not in the repository, where a developer's .env file may be.
      cwd: tmpdir(),
      env: { ...env, PORT: String(port), MANAGEMENT_PORT: String(managementPort) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    started.once('exit', (status, signal) => {
      if (!started.killed) onEnd(`${name} ended: ${status ?? signal}`);
    });
    createInterface({ input: started.stderr }).on('line', onLine);
    const listening = new Promise<void>((onListening) => {
      createInterface({ input: started.stdout }).on('line', (line) => {
        if (line.includes('"listening')) onListening();
        onLine(line);
      });
    });
    await listening;
  };
  process.once('exit', () => child.kill('SIGKILL'));
  await start();
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    managementUrl: `http://127.0.0.1:${managementPort}`,
    start,
    /** Resolves with the exit status; null after a signal. */
    end: async (signal: 'SIGKILL' | 'SIGTERM'): Promise<unknown> => {
      const exit = once(child, 'exit');
      child.kill(signal);
      return (await exit)[0];
    },
    stop: (): void => void process.kill(child.pid ?? 0, 'SIGSTOP'),
    resume: (): void => void process.kill(child.pid ?? 0, 'SIGCONT'),
  };
};
