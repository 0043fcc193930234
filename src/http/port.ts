import type { Express } from 'express';
import type { DestinationStream, Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createHttpFront, LIMITS, type HotPath, type HttpFront } from '../http-front/index.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { ConnectionDroppedEvent, RequestEvent } from '../telemetry/events.ts';
import { createApp, type DefineResource } from './app.ts';
import { createClientAddress } from './client-address.ts';
import { createCommonHeaders, type CommonHeaders } from './common-headers.ts';
import { createCors, type Cors } from './cors.ts';
import { createReadyz, type ReadinessOptions } from './probes.ts';
import { problemResponse } from './problem-details.ts';
import { createRequestLog, type RequestLog } from './request-log.ts';

// What both ports have in common: their limits, the headers and the log line of every response.

/** What every port needs of the service. */
export interface PortOptions extends ReadinessOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where `logger` writes what it has redacted. */
  readonly logDestination: DestinationStream;
  readonly redact: Redaction['redact'];
}

interface OwnOptions {
  /** The origins whose pages may read the responses. */
  readonly origins: Config['corsOrigins'];
  readonly connections?: number;
  /** Whether a route's successes are logged at level debug. */
  readonly isRoutine: (route: string) => boolean;
  readonly emit: (event: RequestEvent | ConnectionDroppedEvent) => void;
  /** Adds the resources. @returns the hot path, if the port has one */
  readonly define: (parts: PortParts) => HotPath | undefined;
}

/** What resources are made with. */
interface PortParts {
  readonly app: Express;
  readonly resource: DefineResource;
  readonly cors: Cors;
  readonly commonHeaders: CommonHeaders;
  readonly requestLog: RequestLog;
}

export const createPort = (config: Config, options: PortOptions & OwnOptions): HttpFront => {
  const { origins, connections = LIMITS.connections, emit, define, clock } = options;
  const cors = createCors(origins);
  const commonHeaders = createCommonHeaders(cors);
  const requestLog = createRequestLog({
    ...options,
    clientAddress: createClientAddress(config.trustProxy),
  });
  const { app, resource, finish } = createApp(cors, commonHeaders);
  const hotPath = define({ app, resource, cors, commonHeaders, requestLog });
  resource('/readyz', createReadyz(options));
  finish();
  return createHttpFront({
    app: (req, res) => {
      requestLog.startForExpress(req, res);
      app(req, res);
    },
    hotPath,
    respondToRefused: (code, head) => {
      const { status, headers, body } = problemResponse(code);
      const requestId = requestLog.refused(head, code, status, body.length);
      const always = [...commonHeaders(undefined), 'X-Request-Id', requestId];
      return { status, headers: [...always, ...headers], body };
    },
    onDropped: () => emit({ type: 'connection-dropped' }),
    clock,
    limits: { ...LIMITS, connections, keepAliveTimeoutMs: config.keepAliveTimeoutMs },
  });
};
