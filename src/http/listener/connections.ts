import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import { clientOf } from '../client-address.ts';
import type { Connection } from '../connection/connection.ts';
import { ARRIVAL_MS, type Limits } from './limits.ts';

// Which connections are open, and which are closed when there are too many. As in nginx, an idle connection makes room for
// a new one; a request under way never does, nor one that is still on its way on a connection just opened.

export interface Entry {
  readonly connection: Connection;
  /** What the bound per address counts it for; undefined behind a proxy. */
  readonly client: string | undefined;
  readonly isOverCapacity: boolean;
}

export type Place = Omit<Entry, 'connection'>;

interface OpenEntry extends Entry {
  readonly openedAtMs: number;
  /** Its `lastUse` when it was opened. */
  readonly firstUse: number;
}

export interface Connections {
  /** Makes room for a new connection; undefined: there is no room, and it must be closed unread. */
  admit(socket: Socket): Place | undefined;
  add(socket: Socket, entry: Entry): void;
  get(socket: Socket): Entry | undefined;
  [Symbol.iterator](): IterableIterator<[Socket, Entry]>;
}

export interface ConnectionsOptions {
  readonly limits: Pick<Limits, 'connections' | 'connectionsPerAddress' | 'spareConnections'>;
  /** Whether connections from this address are a proxy's, and so many clients'. */
  readonly isProxy: (address: string) => boolean;
  readonly clock: Clock;
}

export const createConnections = ({ limits, isProxy, clock }: ConnectionsOptions): Connections => {
  const open = new Map<Socket, OpenEntry>();
  const openByClient = new Map<string, number>();
  let overCapacity = 0;

  const remove = (socket: Socket): void => {
    const entry = open.get(socket);
    if (!entry) return;
    open.delete(socket);
    if (entry.isOverCapacity) overCapacity -= 1;
    if (entry.client === undefined) return;
    const left = (openByClient.get(entry.client) ?? 0) - 1;
    if (left > 0) openByClient.set(entry.client, left);
    else openByClient.delete(entry.client);
  };

  /** Destroys the connection that has been unused for longest among those that may go; whether there was one. */
  const evict = (mayGo: (entry: OpenEntry) => boolean): boolean => {
    let unused: [Socket, OpenEntry] | undefined;
    for (const candidate of open)
      if (
        (!unused || candidate[1].connection.lastUse() < unused[1].connection.lastUse()) &&
        mayGo(candidate[1])
      )
        unused = candidate;
    if (!unused) return false;
    remove(unused[0]);
    unused[0].destroy();
    return true;
  };
  /** Otherwise newcomers that arrive together would close each other, and none of them would get an answer. */
  const isAwaited = ({ connection, openedAtMs, firstUse }: OpenEntry): boolean =>
    connection.lastUse() === firstUse && clock.monotonicMs() - openedAtMs < ARRIVAL_MS;
  const isIdle = (entry: OpenEntry): boolean =>
    !entry.isOverCapacity && entry.connection.phase() === 'idle' && !isAwaited(entry);

  return {
    admit: ({ remoteAddress: address }) => {
      // The client has already gone.
      if (address === undefined) return undefined;
      const client = isProxy(address) ? undefined : clientOf(address);
      const isClientFull =
        client !== undefined && (openByClient.get(client) ?? 0) >= limits.connectionsPerAddress;
      if (isClientFull && !evict((entry) => entry.client === client && isIdle(entry))) return undefined;
      const isFull = open.size - overCapacity >= limits.connections;
      const isOverCapacity = isFull && !evict(isIdle);
      // A spare place is for one short answer. Its request comes at once, so the oldest connection may go.
      if (isOverCapacity && overCapacity >= limits.spareConnections) evict((entry) => entry.isOverCapacity);
      return { client, isOverCapacity };
    },
    add: (socket, entry) => {
      const firstUse = entry.connection.lastUse();
      open.set(socket, { ...entry, openedAtMs: clock.monotonicMs(), firstUse });
      if (entry.isOverCapacity) overCapacity += 1;
      if (entry.client !== undefined)
        openByClient.set(entry.client, (openByClient.get(entry.client) ?? 0) + 1);
      socket.once('close', () => remove(socket));
    },
    get: (socket) => open.get(socket),
    [Symbol.iterator]: () => open.entries(),
  };
};
