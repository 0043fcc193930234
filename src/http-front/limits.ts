// What a client may take, and what goes wrong without each bound. The service makes only the time
// of idle connections configurable: a deployment that needs another value of the others has a load
// balancer that sets it.

export const LIMITS = {
  /** For a request's header section. A client that sends slower holds a connection for nothing. */
  headersTimeoutMs: 10_000,
  /**
   * For an idle connection. The side that closes first must be the load balancer, or a request that
   * is on its way is lost. Many (AWS ALB, nginx) keep a connection for 60 s.
   */
  keepAliveTimeoutMs: 65_000,
  /**
   * A client has so long for what could not be written of its response at once, however steadily it
   * reads: Node tells when all of a write is done, and not how much of it so far.
   */
  slowReaderMs: 60_000,
  /** How often these times are checked: they are late by at most this. */
  checkIntervalMs: 1_000,
  /** Open connections, those over capacity apart. */
  connections: 2_000,
  /** Of them, of one client (`clientOf`). */
  connectionsPerAddress: 1_000,
  /**
   * More connections, each for one short response of the application: to a probe, or a 503.
   */
  connectionsOverCapacity: 100,
  /**
   * For so long the first request of a new connection may be on its way, and the connection does
   * not make room for another one: a probe that arrives at a full service would lose its place to
   * the next client before it can be read.
   */
  arrivalMs: 250,
  /**
   * For what all connections hold together: heads that are being received, pipelined requests, and
   * requests that node:http is handling. A third of the heap of 96 MB that the service has.
   */
  heldBytes: 32 * 1024 * 1024,
};

/** Tests replace them by smaller ones. */
export type Limits = Readonly<typeof LIMITS>;

/**
 * Of each socket's two buffers: Node 20's default, stated because Node 22 and later have four times
 * as much.
 */
export const HIGH_WATER_MARK_BYTES = 16 * 1024;

/**
 * How long pipelined requests may hold one turn of the event loop, and with it every other client.
 */
export const PIPELINE_SLICE_MS = 0.25;

/**
 * Of a head, all of it. Browsers with large cookies stay below 8 KiB. Node counts fewer of its
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
 * Of a host with its port: a name has at most 253 characters (RFC 1035 section 2.3.4). A URL parser
 * normalises a longer one in a time that is quadratic in its length.
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
