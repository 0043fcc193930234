import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIPv4 } from 'node:net';
import type { RequestHandler } from 'express';
import type { DestinationStream, Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import type { Redaction } from '../secrets/redaction.ts';
import type { ClientAddress } from './client-address.ts';
import type { RequestHead } from './hot/head.ts';

// One log line for each request, and the identifier that ties an answer to its line. No header and no query string
// is logged: either may hold what a client did not mean to tell. Express's way logs with pino-http. The hot path
// writes the same line from its parts, on the same stream, without a logger's serialisation and without searching the
// whole line for secrets, which alone takes 1 to 3 µs. What a client can choose freely is redacted there too; nothing
// else in the line can hold a secret.

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
  readonly logger: Logger;
  /** Where `logger` writes. */
  readonly destination: DestinationStream;
  readonly redact: Redaction['redact'];
  readonly clientAddress: ClientAddress;
  /** Learns of every finished request, whatever the log's level. */
  readonly onFinished?: (request: FinishedRequest) => void;
}

export interface RequestLog {
  /** For Express: sets `X-Request-Id`, and logs the request once it is finished. */
  readonly middleware: RequestHandler;
  /** The identifier for the answer's `X-Request-Id`: the client's own if it is well-formed, otherwise a new one. */
  identify(head: Pick<RequestHead, 'headers'>): string;
  /** For the hot path, when a request begins: what logs it once it is finished. */
  watch(head: RequestHead, requestId: string): LogFinished;
}

/**
 * `contentBytes`: of what it was answered with, not counting that HEAD gets none. `isTaken`: whether the system has
 * taken all of it, and not lost the client before.
 */
export type LogFinished = (status: number, contentBytes: number, isTaken: boolean) => void;

export const createRequestLog = (options: RequestLogOptions): RequestLog => {
  const { logger, destination, redact, clientAddress, onFinished } = options;
  const isoTime = createIsoTime();
  const newRequestId = createRequestIds();
  const quote = (clientText: string): string => JSON.stringify(redact(clientText));
  const textsOf = ({ headers }: RequestHead, requestId: string, path: string, address?: string) => {
    const traceId = traceIdOf(headers['traceparent']);
    return {
      // The pattern of a client's one leaves nothing to escape, and our own has nothing to hide.
      requestId: headers['x-request-id'] === undefined ? requestId : redact(requestId),
      path: path === '/banks' ? '"/banks"' : quote(path),
      ip: address === undefined ? '' : `,"ip":${isIPv4(address) ? `"${address}"` : quote(address)}`,
      trace: traceId === undefined ? '' : `,"traceId":"${redact(traceId)}"`,
    };
  };

  const identify: RequestLog['identify'] = ({ headers }) => {
    const given = headers['x-request-id'];
    return typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId();
  };

  const begin = (head: RequestHead): Begun => ({
    startedAtMs: performance.now(),
    method: head.method ?? '',
    path: pathOf(head),
    address: clientAddress(head)?.slice(0, MAX_ADDRESS_CHARS),
  });

  const end: End = ({ startedAtMs, method, path, address }, status, contentBytes, isTaken) => {
    const finished = {
      method,
      path,
      status,
      durationMs: Math.round((performance.now() - startedAtMs) * 1_000) / 1_000,
      bytes: method === 'HEAD' ? 0 : contentBytes,
      aborted: !isTaken,
      address,
    };
    onFinished?.(finished);
    return finished;
  };

  return {
    middleware: createMiddleware(logger, identify, begin, end),
    identify,
    watch: (head, requestId) => {
      const begun = begin(head);
      return (...ending) => {
        const { method, path, status, durationMs, bytes, aborted, address } = end(begun, ...ending);
        if (!logger.isLevelEnabled('info')) return;
        const texts = textsOf(head, requestId, path, address);
        destination.write(
          `{"level":30,"time":"${isoTime()}","requestId":"${texts.requestId}","method":"${method}",` +
            `"path":${texts.path},"status":${status},"durationMs":${durationMs},"bytes":${bytes}${texts.ip}${texts.trace}` +
            `${aborted ? ',"aborted":true' : ''},"msg":"request"}\n`,
        );
      };
    },
  };
};

/** What is known of a request at its beginning only: Express rewrites the path, and the address goes. */
interface Begun extends Pick<FinishedRequest, 'method' | 'path'> {
  readonly startedAtMs: number;
  readonly address: string | undefined;
}

type End = (begun: Begun, ...ending: Parameters<LogFinished>) => LoggedRequest;

interface LoggedRequest extends FinishedRequest {
  readonly address: string | undefined;
}

const createMiddleware = (
  logger: Logger,
  identify: RequestLog['identify'],
  begin: (head: RequestHead) => Begun,
  end: End,
): RequestHandler => {
  const begun = new WeakMap<IncomingMessage, Begun>();
  const toLine = (req: IncomingMessage, res: ServerResponse): object => {
    const contentBytes = Number(res.getHeader('Content-Length') ?? 0);
    const ending = [res.statusCode, contentBytes, res.writableFinished] as const;
    const { address: ip, aborted, ...facts } = end(begun.get(req) ?? begin(req), ...ending);
    return { ...facts, ip, traceId: traceIdOf(req.headers['traceparent']), ...(aborted && { aborted }) };
  };
  return pinoHttp({
    logger,
    genReqId: (req, res) => {
      const requestId = identify(req);
      res.setHeader('X-Request-Id', requestId);
      begun.set(req, begin(req));
      return requestId;
    },
    // The request is described once, by the line below, and not by a child logger that every other line repeats.
    quietReqLogger: true,
    quietResLogger: true,
    customAttributeKeys: { reqId: 'requestId' },
    customLogLevel: (_req, res) => (res.statusCode === 500 ? 'error' : 'info'),
    customSuccessMessage: () => 'request',
    customErrorMessage: () => 'request',
    customSuccessObject: toLine,
    customErrorObject: toLine,
  });
};

/** An IPv6 address with a zone takes up to 62 (39 and an interface's name); what proxies pass on can be anything. */
const MAX_ADDRESS_CHARS = 64;

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
const pathOf = ({ url = '' }: RequestHead): string => {
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
