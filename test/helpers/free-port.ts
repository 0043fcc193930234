import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

// Free ports, for servers of a test and for programs that cannot pick one themselves.

/**
 * Starts a program that needs to know its port. Another process may take a free port before the
 * program does, so `start`, which rejects if the port is in use, is tried with several.
 */
export const onFreePort = <T>(start: (port: number) => Promise<T>): Promise<T> =>
  inFiveTries('could not be started on any of five ports', async () => start(await findFreePort()));

/**
 * A port that was free a moment ago, below those that systems give to connections and to port 0
 * (Linux from 32768, others from 49152): of these, a test that runs beside could get the same. It is
 * above 10080, the highest one that browsers and fetch block.
 * Prefer {@link onFreePort} if the start can be repeated.
 */
export const findFreePort = (): Promise<number> =>
  inFiveTries('none of five ports is free', async () => {
    const server = createServer();
    const port = await listenOn(server, randomInt(11_000, 32_768));
    server.close();
    await once(server, 'close');
    return port;
  });

/** @throws {AggregateError} with all errors, if `attempt` rejects each time */
const inFiveTries = async <T>(failure: string, attempt: () => Promise<T>): Promise<T> => {
  const errors: unknown[] = [];
  while (errors.length < 5) {
    try {
      return await attempt();
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, failure);
};

/** Makes `server` listen, on a free port of loopback unless told otherwise. @returns the port */
export const listenOn = async (server: Server, port = 0, host = '127.0.0.1'): Promise<number> => {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
};
