import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Starts a program that has to be told its port. Somebody else may take a port between the moment in which it was found
 * free and the start, so `start`, which rejects where the port is taken, is tried on some.
 */
export const onFreePort = async <T>(start: (port: number) => Promise<T>): Promise<T> => {
  const errors: unknown[] = [];
  while (errors.length < 5) {
    try {
      return await start(await findFreePort());
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, 'could not be started on any of five ports');
};

/** A port that was free a moment ago. Prefer {@link onFreePort} where the start can be repeated. */
export const findFreePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
};
