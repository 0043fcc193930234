import type { Server } from 'node:net';
import { closeLater } from './close-later.ts';
import { listenOn } from './free-port.ts';

/** Makes a server of one test listen, which is closed after it. @returns the port, a free one */
export const serve = (server: Server, port?: number): Promise<number> => {
  closeLater(() => server.close());
  return listenOn(server, port);
};
