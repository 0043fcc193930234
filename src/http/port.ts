import type { Express } from 'express';
import type { DestinationStream, Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createHttpFront, LIMITS, type HotPath, type HttpFront } from '../http-front/index.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { ConnectionDroppedEvent, RequestEvent } from '../telemetry/events.ts';
import { createApp, type DefineResource } from './app.ts';
import { createClientAddress } from './client-address.ts';
import { createCommonHeaders } from './common-headers.ts';
import { createCors } from './cors.ts';
import type { ReadinessOptions } from './health.ts';
import { problemResponse } from './problems.ts';
import { createRequestLog } from './request-log.ts';

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
  /** Whether a route's successes are logged at level debug. */
  readonly isRoutine: (route: string) => boolean;
  readonly emit: (event: RequestEvent | ConnectionDroppedEvent) => void;
}

interface ServerParts {
  readonly connections?: number;
  readonly hotPath?: HotPath | undefined;
  /** Adds the resources of this port. */
  readonly define: (resource: DefineResource, app: Express) => void;
}

export const createPort = (config: Config, options: PortOptions & OwnOptions) => {
  const { origins, emit, clock } = options;
  const cors = createCors(origins);
  const commonHeaders = createCommonHeaders(cors);
  const requestLog = createRequestLog({
    ...options,
    clientAddress: createClientAddress(config.trustProxy),
  });
  return {
    cors,
    commonHeaders,
    requestLog,
    createServer: ({ connections, hotPath, define }: ServerParts): HttpFront => {
      const app = createApp({ ...options, cors, commonHeaders }, define);
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
        limits: {
          ...LIMITS,
          connections: connections ?? LIMITS.connections,
          keepAliveTimeoutMs: config.keepAliveTimeoutMs,
        },
      });
    },
  };
};
