import type { Server } from 'node:http';

// Opening and closing a server's listening socket.

/** A listener that can be opened and closed repeatedly on the same port. */
export interface SwitchedListener {
  readonly origin: string;
  /** Opens or closes the listener. Calls are queued; when they settle, the last call decides. */
  setOpen(isOpen: boolean): Promise<void>;
}

/** Opens a listener that can be closed and reopened later. Port 0 picks a free port once. */
export async function openListener(
  server: Server,
  host: string,
  requestedPort: number,
): Promise<SwitchedListener> {
  const port = await listen(server, host, requestedPort);
  let shouldBeOpen = true;
  let lastChanged: Promise<void> = Promise.resolve();

  async function apply(): Promise<void> {
    if (shouldBeOpen === server.listening) return;
    if (shouldBeOpen) await listen(server, host, port);
    else await close(server);
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

/** Resolves with the port. Rejects with Node's error, such as EADDRINUSE. */
function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    // Without this, close() would wait for every hanging connection.
    server.closeAllConnections();
  });
}
