import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { onFreePort } from './free-port.ts';
import { runProgram, type Program } from './program.ts';

// A real redis-server on a free port, without a disk; never the machine's own.

/** Undefined if none is installed. */
const REDIS_PROGRAM = ['redis-server', 'valkey-server'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
);

export type RedisServer = Awaited<ReturnType<typeof startRedis>>;

export const startRedis = (options: readonly string[] = []) =>
  onFreePort(async (port) => {
    const own = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const start = async (): Promise<Program> => {
      const program = runProgram(REDIS_PROGRAM ?? '', { args: [...own, ...options] });
      await program.says(/Ready to accept connections/);
      return program;
    };
    let running = await start();
    return {
      port,
      url: `redis://127.0.0.1:${port}`,
      /** Redis's replies to one inline command, as bytes. */
      command: (text: string): Promise<string> => send(port, text),
      /** Kills it, with its data. */
      kill: (): Promise<unknown> => running.end(),
      /** Starts it again on the same port, empty. */
      revive: async (): Promise<void> => {
        running = await start();
      },
      /** It accepts connections but answers nothing, until `resume`. */
      stall: (): void => running.stall(),
      resume: (): void => running.resume(),
    };
  });

const send = async (port: number, command: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(`${command}\r\n`);
    const [answer]: unknown[] = await once(socket, 'data');
    return String(answer);
  } finally {
    socket.destroy();
  }
};
