// The limits for clients, and what goes wrong without each of them. Only the time-out of idle
// connections is configurable: a deployment that needs other values has a load balancer that sets
// them.

export const LIMITS = {
  /** Longest time to receive a header section. A slower client holds a connection for nothing. */
  headersTimeoutMs: 10_000,
  /**
   * How long an idle connection stays open. The load balancer must be the side that closes first:
   * otherwise a request that is on its way is lost. Many keep a connection for 60 s (AWS ALB,
   * nginx).
   */
  keepAliveTimeoutMs: 65_000,
  /**
   * How long a client may take to read the part of its response that could not be written at once,
   * however steadily it reads: Node reports when a write is complete, but no progress before that.
   */
  slowReaderMs: 60_000,
  /** How often these times are checked, and so the most by which they can be late. */
  checkIntervalMs: 1_000,
  /** Open connections, not counting the ones over capacity. */
  connections: 2_000,
  /** Open connections of one client (`clientOf`). */
  connectionsPerAddress: 1_000,
  /**
   * Additional connections. Each gets one short response from the application: a probe's, or a 503.
   */
  connectionsOverCapacity: 100,
  /**
   * How long a new connection may take to send its first request before it counts as idle.
   * Otherwise, a probe that arrives at a full service would lose its slot to the next client before
   * it can be read.
   */
  arrivalMs: 250,
  /**
   * Memory that all connections may hold together: heads that are being received, pipelined
   * requests, and requests that node:http is handling. The service has a heap of 96 MB; this is a
   * third of it.
   */
  heldBytes: 32 * 1024 * 1024,
};

/** Tests use smaller values. */
export type Limits = Readonly<typeof LIMITS>;

/**
 * The size of each socket's two buffers. This is Node 20's default; that of Node 22 and later is
 * four times as large.
 */
export const HIGH_WATER_MARK_BYTES = 16 * 1024;

/**
 * How long pipelined requests may hold one turn of the event loop, and with it every other client.
 */
export const PIPELINE_SLICE_MS = 0.25;

/**
 * The size of a whole head. Browsers with large cookies stay below 8 KiB. Node counts fewer of its
 * bytes.
 */
export const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Node silently drops headers beyond its limit, which can change a request's meaning; so such
 * requests are refused.
 */
export const MAX_HEADERS = 100;

/**
 * RFC 9112 section 3 asks for at least 8,000. Longer targets are attacks or bugs: this service
 * ignores queries.
 */
export const MAX_TARGET_LENGTH = 8_000;

/**
 * The length of a host with its port. A name has at most 253 characters (RFC 1035 section 2.3.4). A
 * URL parser normalises a longer one in a time that is quadratic in its length.
 */
export const MAX_HOST_LENGTH = 260;

/**
 * How long a connection is still read after a refusal: closing on unread bytes resets it, and the
 * response is lost.
 */
export const LINGER_MS = 1_000;

/**
 * As in node:http: a request sent at the last advertised moment still finds the connection open.
 */
export const KEEP_ALIVE_MARGIN_MS = 1_000;
