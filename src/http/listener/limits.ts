// What a client may take, and what goes wrong without each bound. None is configurable: a deployment that needs
// another value has a load balancer that sets it.

/** The bounds of the public listener that tests replace by smaller ones. */
export interface Limits {
  /** A request's header section. A client that sends slower holds a connection and a parser for nothing. */
  readonly headersTimeoutMs: number;
  /** The whole request. It has no content to wait for; Node's 5 min would let a body dribble in. */
  readonly requestTimeoutMs: number;
  /** How often the two above are checked: they are late by at most this. Node's 30 s would triple the first. */
  readonly checkIntervalMs: number;
  /**
   * An idle connection. Longer than the 60 s for which load balancers (AWS ALB, nginx) keep theirs: the side
   * that closes first must be the client, or a request that is on its way is lost.
   */
  readonly keepAliveTimeoutMs: number;
  /** A client that does not take an answer whole in one to two of these is cut off: 62 kB in 30 s are 2 kB/s. */
  readonly slowReaderMs: number;
  /** Open connections, those over capacity apart. */
  readonly connections: number;
  /** Of them, from one address that is not a trusted proxy's (see client-address.ts). */
  readonly connectionsPerAddress: number;
  /** More connections, which get one short answer: of /healthz or /readyz for probes, a 503 for others. */
  readonly spareConnections: number;
  /** Requests, over all connections, that have been read and wait for their client to take the answer before them. */
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

/** Of each socket's two buffers: Node 20's default, stated because Node 22 and later have four times as much. */
export const HIGH_WATER_MARK_BYTES = 16 * 1024;

/** How long pipelined requests may hold one turn of the event loop, and with it every other client. */
export const PIPELINE_SLICE_MS = 0.25;

/** Node's own default, stated. Browsers with large cookies stay below 8 KiB; the memory of 4,000 parsers is bounded. */
export const MAX_HEADER_BYTES = 16 * 1024;

/** Node silently drops headers beyond its limit, which can change a request's meaning; so such requests are refused. */
export const MAX_HEADERS = 100;

/** RFC 9112 section 3 asks for at least 8,000. Longer targets are attacks or bugs: this service ignores queries. */
export const MAX_TARGET_LENGTH = 8_000;

/**
 * A body on GET means nothing here. So much of one is read and dropped to keep the connection; after an answer to a
 * request with more, or with no stated length, the connection is closed.
 */
export const MAX_DROPPED_BODY_BYTES = 64 * 1024;

/**
 * For so long the first request of a new connection may be on its way, and the connection does not make room for another
 * one: a probe that arrives at a full service would lose its place to the next client before it can be read.
 */
export const ARRIVAL_MS = 250;

/** How long a connection is still read after a refusal: closing on unread bytes resets it, and the answer is lost. */
export const LINGER_MS = 1_000;

/**
 * After so many requests that the hot path did not take, a connection ends, so that its client comes back on one that
 * the hot path may take. Load balancers keep their connections for hours: with 1,000, one other request in a hundred
 * took 95 % of the ordinary ones from the hot path. A new connection costs a client that is never ordinary about as much
 * as one request. Node's own bound would answer the excess with a bare 503. On the hot path there is none.
 */
export const MAX_REQUESTS_BY_NODE = 20;
