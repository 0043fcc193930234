import { once } from 'node:events';
import type { Server } from 'node:http';

// A listener that can be closed and opened again on the same port.

/** A listener that can be opened and closed repeatedly on the same port. */
export interface SwitchedListener {
  readonly origin: string;
  /** Opens or closes the listener. Calls are queued; when they settle, the last call decides. */
  setOpen(isOpen: boolean): Promise<void>;
}

/** Rejects with Node's error, such as EADDRINUSE. Port 0 picks a free port once. */
export async function openListener(
  server: Server,
  host: string,
  requestedPort: number,
): Promise<SwitchedListener> {
  server.listen(requestedPort, host);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : requestedPort;
  let shouldBeOpen = true;
  let lastChanged: Promise<void> = Promise.resolve();

  async function apply(): Promise<void> {
    if (shouldBeOpen === server.listening) return;
    if (shouldBeOpen) {
      server.listen(port, host);
      await once(server, 'listening');
    } else {
      server.close();
      // Without this, close() would wait for every hanging connection.
      server.closeAllConnections();
      await once(server, 'close');
    }
  }

  return {
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    setOpen(isOpen) {
      shouldBeOpen = isOpen;
      // A failed change must not block the next one.
      lastChanged = lastChanged.then(apply, apply);
      return lastChanged;
    },
  };
}
