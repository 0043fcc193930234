import { randomBytes } from 'node:crypto';
import type { RequestHead } from '../hot/head.ts';

// The two identifiers of a request: its own, which the answer repeats, and that of the trace which it belongs to.

/** Gives the client's own `X-Request-Id` where it is well-formed, otherwise a new one. */
export type Identify = (head: Pick<RequestHead, 'headers'>) => string;

export const createIdentify = (): Identify => {
  const newRequestId = createRequestIds();
  return ({ headers }) => {
    const given = headers['x-request-id'];
    return typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId();
  };
};

const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;

/** Twelve random characters for this process and a number for the request: unique, and a tenth of a UUID's cost. */
const createRequestIds = (): (() => string) => {
  const prefix = randomBytes(9).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(count += 1)}`;
};

/** The trace-id of a well-formed `traceparent` header. */
export const traceIdOf = ({ headers }: Pick<RequestHead, 'headers'>): string | undefined => {
  const value = headers['traceparent'];
  return typeof value === 'string' ? TRACE_PARENT.exec(value)?.[1] : undefined;
};

/** W3C Trace Context section 3.2: version, trace-id, parent-id, flags. An all-zero trace-id is invalid. */
const TRACE_PARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|-)/;
