import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { findFreePort } from '../../test/helpers/free-port.ts';
import { imageOptions } from '../../test/helpers/image.ts';
import { runProgram, type Program } from '../../test/helpers/program.ts';

// One process of the built service, which keeps its ports and is started again after it was killed.

export type Replica = Awaited<ReturnType<typeof startReplica>>;

export const startReplica = async (
  name: 'steady' | 'struck',
  env: Readonly<Record<string, string>>,
) => {
  const [port, managementPort] = [await findFreePort(), await findFreePort()];
  const programs: Program[] = [];
  const start = async (): Promise<void> => {
    const program = runProgram(process.execPath, {
      args: [...imageOptions(), resolve('dist/src/main.js')],
      // Not in the repository, where a developer's .env file may be.
      cwd: tmpdir(),
      env: { ...env, PORT: String(port), MANAGEMENT_PORT: String(managementPort) },
    });
    programs.push(program);
    await program.listens(port);
  };
  process.once('exit', () => programs.at(-1)?.child.kill('SIGKILL'));
  await start();
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    managementUrl: `http://127.0.0.1:${managementPort}`,
    start,
    /** Whether it still runs. */
    runs: (): boolean => {
      const child = programs.at(-1)?.child;
      return child?.exitCode === null && child.signalCode === null;
    },
    /** Resolves with the exit status; null after a signal. */
    end: async (signal: 'SIGKILL' | 'SIGTERM') => programs.at(-1)?.end(signal),
    stop: (): void => programs.at(-1)?.stall(),
    resume: (): void => programs.at(-1)?.resume(),
    /** Everything that it has written, whenever it was started. */
    written: (): string => programs.map(({ output }) => output()).join(''),
  };
};
