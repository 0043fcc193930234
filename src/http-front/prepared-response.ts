import type { Socket } from 'node:net';
import { toLines, toStatusLine, type FlatHeaders } from './response-head.ts';

// Writes responses in which only the request id differs from one request to the next. The rest is
// text that is made once a second.

export interface PreparedResponse {
  readonly status: number;
  /**
   * Both are sent, `common` first. They are the cache key: pass the same arrays while nothing
   * changes, and a new `headers` when status or body does.
   */
  readonly common: FlatHeaders;
  readonly headers: FlatHeaders;
  /** Empty for a 304. */
  readonly body: Buffer;
  /** For `X-Request-Id`: ASCII. */
  readonly requestId: string;
}

/** What stands before and after the request id. */
interface Parts {
  readonly beforeId: string;
  readonly afterId: string;
  /** The same, for the last response of a connection. */
  readonly afterLastId: string;
  /** The body if it is small enough to be copied, in Latin-1. */
  readonly text: string | undefined;
}

/** Gives what writes responses with `Date`, `Connection` and `Keep-Alive`, as node:http does. */
export const createWriteResponse = (keepAliveTimeoutMs: number) => {
  const keepAlive = `timeout=${Math.floor(keepAliveTimeoutMs / 1_000)}`;
  let madeForSecond = 0;
  const made = new Map<FlatHeaders, Map<FlatHeaders, Parts>>();

  const partsOf = ({ status, common, headers, body }: PreparedResponse): Parts => {
    const date = ['Date', new Date(madeForSecond * 1_000).toUTCString()];
    const lines = `\r\n${toLines([...common, ...headers, ...date])}`;
    const open = toLines(['Connection', 'keep-alive', 'Keep-Alive', keepAlive]);
    const closing = toLines(['Connection', 'close']);
    return {
      beforeId: `${toStatusLine(status)}X-Request-Id: `,
      afterId: `${lines}${open}\r\n`,
      afterLastId: `${lines}${closing}\r\n`,
      text: body.length <= LARGEST_TEXT ? body.toString('latin1') : undefined,
    };
  };

  return (socket: Socket, response: PreparedResponse, isLast: boolean): void => {
    // Caches subtract the Date from their own clock, so it must be right whatever else has not
    // changed.
    const second = Math.floor(Date.now() / 1_000);
    if (second !== madeForSecond) made.clear();
    madeForSecond = second;
    const { common, headers, body, requestId } = response;
    const byCommon = made.get(headers) ?? new Map<FlatHeaders, Parts>();
    made.set(headers, byCommon);
    const parts = byCommon.get(common) ?? partsOf(response);
    byCommon.set(common, parts);

    const head = parts.beforeId + requestId + (isLast ? parts.afterLastId : parts.afterId);
    if (parts.text !== undefined) socket.write(head + parts.text, 'latin1');
    else {
      // One system call for both.
      socket.cork();
      socket.write(head, 'latin1');
      socket.write(body);
      socket.uncork();
    }
  };
};

/** Copying more would cost more than a system call for two pieces. */
const LARGEST_TEXT = 16 * 1_024;
