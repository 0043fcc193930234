import type { Freshness } from '../banks/freshness.ts';
import type { ListEvent } from '../banks/list-event.ts';
import type { TokenEvent } from '../provider/token.ts';
import type { ProviderEvent } from '../provider/provider.ts';
import type { SecretFileEvent } from '../secrets/secret-files.ts';
import type { StoreEvent } from '../sharing/store-report.ts';

// Everything in the service that operators may want to know. Each event is emitted once, where it
// happens. The log, the metrics and the history receive all of them.

export type ServiceEvent =
  | ListEvent
  | StoreEvent
  | TokenEvent
  | ProviderEvent
  | SecretFileEvent
  | RequestEvent
  | ConnectionDroppedEvent
  | ManagementRefusedEvent;

/** A request to the management port was refused. */
export interface ManagementRefusedEvent {
  readonly type: 'management-refused';
  readonly reason: (typeof MANAGEMENT_REFUSALS)[number];
}

export const MANAGEMENT_REFUSALS = ['host', 'no_token', 'wrong_token'] as const;

/** A connection to the public port was closed unread: there are as many as there may be. */
export interface ConnectionDroppedEvent {
  readonly type: 'connection-dropped';
}

/**
 * The response to a request on the public port has been handed to the system, or its connection
 * has ended.
 */
export interface RequestEvent {
  readonly type: 'request-finished';
  /** The path of the route that responded, a constant of the code; `other` if none did. */
  readonly route: string;
  readonly answeredBy: (typeof ANSWERED_BY)[number];
  /** As the client sent it. */
  readonly method: string;
  /** Undefined if the client went away before a response began. */
  readonly status: number | undefined;
  readonly durationMs: number;
  /** Whether all of the response was written before the client was gone. */
  readonly isWritten: boolean;
  /**
   * Of a request for the list: the state of what was served, or why nothing could be; undefined for
   * any other response.
   */
  readonly listState: Freshness | undefined;
}

/** `server`: it was malformed, too large or too slow to be given to one of the others. */
export const ANSWERED_BY = ['hot_path', 'express', 'server'] as const;

/** Whether a response with this status is the service's failure. */
export const isServerError = (status: RequestEvent['status']): boolean => (status ?? 0) >= 500;
