import { on, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Running } from './processes.ts';
import type { Cost } from './measure.ts';

// A raw client, and what its requests cost the program that answers.

/** Sends requests to one port, one after the other, and measures the service meanwhile. */
export const createSender = (port: number, service: Running) => {
  let socket: Socket | undefined;
  let received = '';

  const open = async (): Promise<Socket> => {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: false });
    // It may be reset behind its last answer, which is not read to the end.
    opened.on('error', () => undefined);
    opened.on('data', (chunk) => void (received += chunk.toString('latin1')));
    await once(opened, 'connect');
    return opened;
  };

  /** Sends `count` requests at once, and resolves with the answers' heads. */
  const exchange = async (bytes: string, count = 1): Promise<string> => {
    socket ??= await open();
    received = '';
    socket.write(bytes.repeat(count), 'latin1');
    for await (const _ of on(socket, 'data', {
      close: ['close'],
      signal: AbortSignal.timeout(ANSWER_MS),
    }))
      if (received.split(END_OF_HEAD).length > count) break;
    if (received === '' || /\r\nconnection: close/i.test(received)) {
      socket.end();
      if (!socket.destroyed) await once(socket, 'close');
      socket = undefined;
    }
    return received;
  };

  return {
    exchange,
    /** Whether the answer ends the connection. */
    isLast: async (bytes: string): Promise<boolean> => {
      await exchange(bytes);
      return socket === undefined;
    },
    costOf:
      (bytes: string, isLast: boolean): Cost =>
      async () => {
        await wait(SETTLE_MS);
        const before = service.preciseCpuUs();
        if (isLast) for (let sent = 0; sent < CONNECTIONS; sent += 1) await exchange(bytes);
        else await exchange(bytes, PIPELINED);
        await wait(SETTLE_MS);
        return (service.preciseCpuUs() - before) / (isLast ? CONNECTIONS : PIPELINED);
      },
    close: (): void => void socket?.destroy(),
  };
};

const END_OF_HEAD = '\r\n\r\n';
/** So many are a few milliseconds, and far from the limit for requests that wait. */
const PIPELINED = 20;
const CONNECTIONS = 6;
const ANSWER_MS = 10_000;
/** The system counts what a thread has used when that stops, and at the next of its ticks. */
const SETTLE_MS = 3;
