import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { EnvironmentVariables } from '../../src/config/variables.ts';
import { closeLater } from '../helpers/close-later.ts';
import { imageOptions } from '../helpers/image.ts';
import { startProcess, type ServiceProcess } from '../helpers/process.ts';

// The built service with the options of its image, and many clients.

/** As in deploy/. */
export const CONTAINER_MIB = 256;

export const startAsInImage = (env: EnvironmentVariables): Promise<ServiceProcess> =>
  // As in the Dockerfile.
  startProcess({ MALLOC_ARENA_MAX: '1', ...env }, '', imageOptions());

/** The most memory that it has had. */
export const peakMib = ({ child }: ServiceProcess): number => {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024);
};

/**
 * Opens connections, each once the bytes of the one before have been given to the system.
 * @param bytes all that connection number `n` sends
 */
export const connectMany = async (
  url: string,
  connections: number,
  bytes: (n: number) => string,
  reads = true,
): Promise<void> => {
  for (let n = 0; n < connections; n += 1) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
    closeLater(() => socket.destroy());
    if (reads) socket.resume();
    else socket.pause();
    await new Promise<void>((resolve) => {
      socket
        .once('connect', () => resolve(void socket.write(bytes(n), 'latin1')))
        .once('close', resolve);
    });
  }
};
