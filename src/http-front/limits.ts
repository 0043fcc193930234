// The limits for clients, and what goes wrong without each of them. Only the time-out of idle
// connections is configurable: a deployment that needs other values has a load balancer that sets
// them.

export const LIMITS = {
  /** Open connections; the system closes further ones. Each may hold a head and a response. */
  connections: 1_000,
  /** Longest time to receive a head. A slower client holds a connection for nothing. */
  headersTimeoutMs: 10_000,
  /**
   * How long an idle connection stays open. The load balancer must be the side that closes first:
   * otherwise a request that is on its way is lost. Many keep a connection for 60 s (AWS ALB,
   * nginx).
   */
  keepAliveTimeoutMs: 65_000,
  /** How long a client may take to read a response that could not be written at once. */
  slowReaderMs: 60_000,
  /** How often these times are checked, and so the most by which they can be late. */
  checkIntervalMs: 1_000,
};

/** Tests use smaller values. */
export type Limits = Readonly<typeof LIMITS>;

/** The size of a whole head, as in Node. Browsers with large cookies stay below 8 KiB. */
export const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Node silently drops headers beyond its limit, which can change a request's meaning; so such
 * requests are refused.
 */
export const MAX_HEADERS = 100;

/**
 * How much Node reads from a paused socket, besides one read of up to 64 KiB: Node 20's default.
 * That of Node 22 is four times as much.
 */
export const HIGH_WATER_MARK_BYTES = 16 * 1024;

/**
 * How long something may be on its way: TCP retransmits after a second (RFC 6298 section 2.1). An
 * idle connection is kept for so much longer than is advertised, and one that is about to be closed
 * is read for so long, because closing on unread bytes resets it and the response is lost (RFC 9112
 * section 9.6).
 */
export const ON_ITS_WAY_MS = 1_000;

/** How much of what comes meanwhile is read. */
export const LINGER_BYTES = 256 * 1024;
