import type { Connection, Slot } from './connection.ts';
import type { Limits } from './limits.ts';
import { activityOf } from './activity.ts';

// Keeps the open connections, and closes some if there are too many. As in nginx, an idle
// connection makes room for a new one. A connection with a request in progress never does, nor does
// one that has just been accepted, because its request may be on its way: clients that arrive
// together would close each other's connections, and none would get a response.

/**
 * Why a connection was closed without a response: its address has too many, it had been idle for
 * longest, or it was the oldest one over capacity.
 */
export type ClosedReason = 'address_limit' | 'idle' | 'over_capacity';

export interface SlotsOptions {
  readonly limits: Limits;
  /**
   * Gives the client that connections from an address count for. Undefined for a trusted proxy,
   * whose connections carry the requests of many clients.
   */
  readonly clientOf: (address: string) => string | undefined;
  /** Called for each connection that was closed to make room for others, or refused at a limit. */
  readonly onClosed: (reason: ClosedReason) => void;
}

export const createConnectionSlots = ({ limits, clientOf, onClosed }: SlotsOptions) => {
  const withinCapacity = new Set<Connection>();
  const overCapacity = new Set<Connection>();

  const remove = (connection: Connection): void => {
    withinCapacity.delete(connection);
    overCapacity.delete(connection);
  };
  const evict = (connection: Connection, reason: ClosedReason): void => {
    remove(connection);
    connection.socket.destroy();
    onClosed(reason);
  };
  /** Closes the one that has been idle for longest; whether there was one. */
  const evictIdle = (connections: Iterable<Connection>): boolean => {
    let longestIdle: Connection | undefined;
    for (const connection of connections) {
      if (
        connection.isOverCapacity ||
        (longestIdle && connection.activitySinceMs >= longestIdle.activitySinceMs)
      )
        continue;
      const activity = activityOf(connection);
      if (activity === 'idle' || activity === 'closing') longestIdle = connection;
    }
    if (longestIdle) evict(longestIdle, 'idle');
    return longestIdle !== undefined;
  };
  const hasRoomFor = (client: string): boolean => {
    if (withinCapacity.size + overCapacity.size < limits.connectionsPerAddress) return true;
    const own = [...withinCapacity, ...overCapacity].filter(
      (connection) => connection.client === client,
    );
    return own.length < limits.connectionsPerAddress || evictIdle(own);
  };

  return {
    /**
     * Makes room for a connection from `address`; undefined: there is none, and it must be closed
     * unread.
     */
    admit: (address: string): Slot | undefined => {
      const client = clientOf(address);
      if (client !== undefined && !hasRoomFor(client)) {
        onClosed('address_limit');
        return undefined;
      }
      const isOverCapacity =
        withinCapacity.size >= limits.connections && !evictIdle(withinCapacity);
      // One over capacity is for one short response. Its request comes at once, so the oldest
      // connection may go.
      const [oldest] = overCapacity;
      if (isOverCapacity && oldest && overCapacity.size >= limits.connectionsOverCapacity)
        evict(oldest, 'over_capacity');
      return { client, isOverCapacity };
    },
    add: (connection: Connection): void => {
      (connection.isOverCapacity ? overCapacity : withinCapacity).add(connection);
      connection.socket.once('close', () => remove(connection));
    },
    *[Symbol.iterator](): IterableIterator<Connection> {
      yield* withinCapacity;
      yield* overCapacity;
    },
  };
};
