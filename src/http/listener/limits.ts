// Limits for clients, and what goes wrong without each. None is configurable: a load balancer can set other values.

/** The limits of the public port that tests replace with smaller ones. */
export interface Limits {
  /** A request's header section. A slower client would occupy a connection and a parser. */
  readonly headersTimeoutMs: number;
  /** The whole request. No resource needs a body; Node's 5 min would allow a very slow one. */
  readonly requestTimeoutMs: number;
  /** How often the two above are checked: they may take this much longer. Node's 30 s would triple the first. */
  readonly checkIntervalMs: number;
  /**
   * An idle connection. Longer than the 60 s for which load balancers (AWS ALB, nginx) keep theirs: the client must
   * be the one that closes first, or a request may be lost with the connection.
   */
  readonly keepAliveTimeoutMs: number;
  /** A client that does not read a response within one to two of these is disconnected: 62 kB in 30 s are 2 kB/s. */
  readonly slowReaderMs: number;
  /** Open connections, without those over capacity. */
  readonly connections: number;
  /** Of them, from one address that is not a trusted proxy's (see client-address.ts). */
  readonly connectionsPerAddress: number;
  /** Additional connections, which get one short response: from /healthz or /readyz, or a 503. */
  readonly spareConnections: number;
  /** Bytes of requests, over all connections, that wait until their client has read the previous response. */
  readonly backlogBytes: number;
}

export const LIMITS: Limits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  checkIntervalMs: 2_000,
  keepAliveTimeoutMs: 65_000,
  slowReaderMs: 30_000,
  connections: 2_000,
  connectionsPerAddress: 1_000,
  spareConnections: 100,
  backlogBytes: 16 * 1024 * 1024,
};

/** For each socket's two buffers: Node 20's default, set because Node 22 and later have four times as much. */
export const HIGH_WATER_MARK_BYTES = 16 * 1024;

/** How long pipelined requests may block one turn of the event loop, and with it all other clients. */
export const PIPELINE_SLICE_MS = 0.25;

/** Node's default, set explicitly. Browsers with large cookies stay below 8 KiB, and the memory of all parsers is limited. */
export const MAX_HEADER_BYTES = 16 * 1024;

/** Beyond this Node would silently drop headers, which can change a request's meaning, so the request is refused. */
export const MAX_HEADERS = 100;

/** RFC 9112 section 3 requires at least 8,000. Longer targets are attacks or bugs: this service ignores queries. */
export const MAX_TARGET_LENGTH = 8_000;

/**
 * A body of a GET request has no meaning here. This much is read and discarded to keep the connection; after a request with a
 * longer body, or one of unknown length, the connection is closed.
 */
export const MAX_DROPPED_BODY_BYTES = 64 * 1024;

/** How long a connection is still read after a refusal: closing it with unread bytes would reset it and lose the response. */
export const LINGER_MS = 1_000;

/**
 * After this many requests that node:http answered, a connection is closed, so that its client opens one that the hot path
 * can serve: otherwise a proxy that kept its connections through an outage would never get back to the hot path. Closing
 * after a thousand requests has no measurable cost; nginx does the same (`keepalive_requests`). Node's own limit would answer
 * further requests with a bare 503. On the hot path there is no such limit.
 */
export const MAX_REQUESTS_BY_NODE = 1_000;
