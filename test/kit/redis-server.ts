import { describe, expect } from '@jest/globals';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';

// A real redis-server of a test's own, on a free port, which keeps nothing on disk; never the machine's. Where none is
// installed these tests are left out, and say so; where CI=true that is a failure.

const PROGRAM = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);

const HOW_TO_GET_IT =
  'no redis-server is installed. On Debian and Ubuntu: apt-get install redis-server (or valkey-server); with Homebrew: ' +
  'brew install redis.';

if (!PROGRAM) {
  // oxlint-disable-next-line node/no-process-env -- whether this is CI, where nothing may be left out
  if (process.env['CI'] === 'true') throw new Error(HOW_TO_GET_IT);
  process.stderr.write(`Tests of ${expect.getState().testPath} are left out: ${HOW_TO_GET_IT}\n`);
}

/** `describe` for tests that need redis-server. */
export const describeWithRedis = PROGRAM ? describe : describe.skip;

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Answers of Redis to one inline command, as they came. */
  tell(command: string): Promise<string>;
  /** Ends it at once, with everything it holds. */
  kill(): Promise<void>;
  /** Starts it again on the same port, empty. */
  revive(): Promise<void>;
  /** It accepts connections and answers nothing, until `resume`. */
  stall(): void;
  resume(): void;
}

export const startRedis = async (options: readonly string[] = []): Promise<RedisServer> => {
  const port = await freePort();
  let child: ChildProcess;
  const revive = async (): Promise<void> => {
    const own = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    child = spawn(PROGRAM ?? '', [...own, ...options], { stdio: 'ignore' });
    while (!/PONG|NOAUTH/.test(await tell(port, 'PING').catch(() => ''))) await setTimeout(10);
  };
  await revive();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    tell: (command) => tell(port, command),
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    revive,
    stall: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
};

/** A port that nobody listens on. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
};

const tell = async (port: number, command: string): Promise<string> => {
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
