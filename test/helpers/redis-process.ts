import { once } from 'node:events';
import { connect } from 'node:net';
import { onFreePort } from './free-port.ts';
import { findProgram } from './find-program.ts';
import { runProgram, type Program } from './program.ts';

// A real redis-server on a free port, without a disk; never the machine's own.

/** Undefined if none is installed. */
const REDIS_PROGRAM = findProgram(['redis-server', 'valkey-server']);

/** Commands that read, or change nothing but what {@link RESET} undoes. */
const UNDONE_BY_RESET =
  /^(?:CLIENT (?:KILL|LIST)|COPY|DEL|EXISTS|FLUSHALL|GET|INFO|KEYS|PEXPIRE|PING|PTTL|PUBLISH|PUBSUB|SET|SETRANGE|STRLEN) ?[^\r\n]*$/i;
/** The clients go first: they write nothing into the empty Redis. */
const RESET = [
  'CLIENT KILL TYPE normal SKIPME yes',
  'CLIENT KILL TYPE pubsub',
  'FLUSHALL',
  'SCRIPT FLUSH',
  'CONFIG RESETSTAT',
].join('\r\n');

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
    let canBeReset = true;
    return {
      port,
      url: `redis://127.0.0.1:${port}`,
      /** Redis's replies to one inline command, as bytes. */
      command: (text: string): Promise<string> => {
        if (!UNDONE_BY_RESET.test(text)) canBeReset = false;
        return send(port, text);
      },
      /**
       * Makes it as it was when it had started: empty, without clients and statistics. @returns
       * whether it is; not if it has been killed, stalled or configured
       */
      reset: async (): Promise<boolean> => {
        if (canBeReset) canBeReset = !(await send(port, RESET)).includes('-');
        return canBeReset;
      },
      /** Kills it, with its data. */
      kill: (): Promise<unknown> => {
        canBeReset = false;
        return running.end();
      },
      /** Starts it again on the same port, empty. */
      revive: async (): Promise<void> => {
        running = await start();
      },
      /** It accepts connections but answers nothing, until `resume`. */
      stall: (): void => {
        canBeReset = false;
        running.stall();
      },
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
