import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIPv4 } from 'node:net';
import type { DestinationStream, Logger } from 'pino';
import type { Redaction } from '../redaction.ts';
import type { ClientAddress } from './client-address.ts';

// One log line for each request, and the identifier that ties an answer to its line. No header and no query string
// is logged: either may hold what a client did not mean to tell. The line is put together here from its parts, in
// pino's form and on pino's stream: a logger's own serialisation and a search for secrets in every line would cost
// more than the rest of an answer from the hot path. What a client can choose freely is redacted; nothing else in the
// line can hold a secret.

/** What is known of a request when its response has been handed to the system, or its connection has ended. */
export interface FinishedRequest {
  readonly method: string;
  /** Without the query. What the client sent: no label for a metric. */
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  /** Of content, without the head. */
  readonly bytes: number;
  /** Whether the client went away before it had the whole answer. */
  readonly aborted: boolean;
}

export interface RequestLogOptions {
  /** Decides by its level whether lines are written. */
  readonly logger: Pick<Logger, 'isLevelEnabled'>;
  readonly destination: DestinationStream;
  readonly redact: Redaction['redact'];
  readonly clientAddress: ClientAddress;
  /** Learns of every finished request, whatever the log's level. */
  readonly onFinished?: (request: FinishedRequest) => void;
}

export interface RequestLog {
  /** The identifier for the answer's `X-Request-Id`: the client's own if it is well-formed, otherwise a new one. */
  identify(req: IncomingMessage): string;
  /** Tells of the request once it is finished. `bytes` for who does not set `Content-Length` by `setHeader`. */
  watch(req: IncomingMessage, res: ServerResponse, requestId: string, bytes?: number): void;
}

export const createRequestLog = (options: RequestLogOptions): RequestLog => {
  const { logger, destination, redact, clientAddress, onFinished } = options;
  const isoTime = createIsoTime();
  const newRequestId = createRequestIds();
  const quote = (clientText: string): string => JSON.stringify(redact(clientText));
  const textsOf = ({ headers }: IncomingMessage, requestId: string, path: string, address?: string) => {
    const traceId = traceIdOf(headers['traceparent']);
    return {
      // The pattern of a client's one leaves nothing to escape, and our own has nothing to hide.
      requestId: headers['x-request-id'] === undefined ? requestId : redact(requestId),
      path: path === '/banks' ? '"/banks"' : quote(path),
      ip: address === undefined ? '' : `,"ip":${isIPv4(address) ? `"${address}"` : quote(address)}`,
      trace: traceId === undefined ? '' : `,"traceId":"${redact(traceId)}"`,
    };
  };

  return {
    identify: ({ headers }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId();
    },
    watch: (req, res, requestId, bytes) => {
      const startedAtMs = performance.now();
      // Both are gone, or rewritten, by the time of the answer.
      const address = clientAddress(req);
      const path = pathOf(req);
      // After 'finish', and also where the connection ends before it.
      res.on('close', () => {
        const { method = '' } = req;
        const { statusCode: status } = res;
        const aborted = !res.writableFinished;
        const durationMs = Math.round((performance.now() - startedAtMs) * 1_000) / 1_000;
        const sent = method === 'HEAD' ? 0 : (bytes ?? Number(res.getHeader('Content-Length') ?? 0));
        onFinished?.({ method, path, status, durationMs, bytes: sent, aborted });
        const isError = status === 500;
        if (!logger.isLevelEnabled(isError ? 'error' : 'info')) return;
        const texts = textsOf(req, requestId, path, address);
        destination.write(
          `{"level":${isError ? 50 : 30},"time":"${isoTime()}","requestId":"${texts.requestId}","method":"${method}",` +
            `"path":${texts.path},"status":${status},"durationMs":${durationMs},"bytes":${sent}${texts.ip}${texts.trace}` +
            `${aborted ? ',"aborted":true' : ''},"msg":"request"}\n`,
        );
      });
    },
  };
};

const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;
/** Twelve random characters for this process and a number for the request: unique, and a tenth of a UUID's cost. */
const createRequestIds = (): (() => string) => {
  const process = randomBytes(9).toString('base64url');
  let count = 0;
  return () => `${process}-${(count += 1)}`;
};

/** W3C Trace Context section 3.2: version, trace-id, parent-id, flags. An all-zero trace-id is invalid. */
const TRACE_PARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:$|-)/;

const traceIdOf = (field: string | string[] | undefined): string | undefined =>
  typeof field === 'string' ? TRACE_PARENT.exec(field)?.[1] : undefined;

/** The path without its query; a path can be as long as a header. */
const pathOf = ({ url = '' }: IncomingMessage): string => {
  const end = url.indexOf('?');
  return url.slice(0, Math.min(end < 0 ? url.length : end, 256));
};

/** Now as pino writes it, formatted once per millisecond: a busy service writes some fifty lines in one. */
const createIsoTime = (): (() => string) => {
  let lastMs = Number.NaN;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      text = new Date(nowMs).toISOString();
    }
    return text;
  };
};
