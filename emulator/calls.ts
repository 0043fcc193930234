import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

// The record of the requests that the emulated provider received.

export const LIST_PATH = '/api/v1/banks';
export const TOKEN_PATH = '/oauth/token';
type ProviderPath = typeof LIST_PATH | typeof TOKEN_PATH;

/** One request to the provider. */
export interface Call {
  readonly method: string;
  readonly path: string;
  /**
   * All request headers, including Authorization: the emulator only ever sees made-up credentials.
   */
  readonly headers: IncomingHttpHeaders;
  /** The response status; undefined until it is sent, and if it never is. */
  readonly status: number | undefined;
}

/** The calls to one emulator. */
export interface CallRecord {
  /** The most recent calls, oldest first. */
  readonly recent: readonly Call[];
  /** The number of all calls so far, including those no longer in `recent`. */
  total(): number;
  add(req: IncomingMessage, res: ServerResponse): Call;
  /** The number of calls so far to one of the provider's two paths. */
  count(path: ProviderPath): number;
}

const MAX_RECENT_CALLS = 10_000;

/**
 * Creates an empty record. `onEnd` is called once for each call, when its response has been sent or
 * cut off.
 */
export function createCallRecord(onEnd: (call: Call) => void = () => undefined): CallRecord {
  const recent: Call[] = [];
  // Only these two paths: anything else that a client asks for must not make this grow.
  const counts = { [LIST_PATH]: 0, [TOKEN_PATH]: 0 };
  let total = 0;
  return {
    recent,
    total: () => total,
    add(req, res) {
      const call = toCall(req, res);
      res.once('close', () => onEnd(call));
      recent.push(call);
      if (recent.length > MAX_RECENT_CALLS) recent.shift();
      total += 1;
      if (call.path === LIST_PATH || call.path === TOKEN_PATH) counts[call.path] += 1;
      return call;
    },
    count: (path) => counts[path],
  };
}

function toCall(req: IncomingMessage, res: ServerResponse): Call {
  let response: ServerResponse | undefined = res;
  let finalStatus: number | undefined;
  const status = (): number | undefined =>
    response?.headersSent ? response.statusCode : finalStatus;
  // Keep only the status of a closed response, not the response itself.
  res.once('close', () => {
    finalStatus = status();
    response = undefined;
  });
  return {
    method: req.method ?? '',
    path: (req.url ?? '').split('?', 1)[0] ?? '',
    headers: req.headers,
    get status() {
      return status();
    },
  };
}
