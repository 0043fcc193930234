import type { DestinationStream, Logger } from 'pino';
import type { BankList } from '../banks/bank-list.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createAnswerBanks } from './banks/answer.ts';
import { createHotPath } from './banks/hot-path.ts';
import { createClientAddress } from './client-address.ts';
import { createCommonHeaders } from './common-headers.ts';
import { createCors } from './cors.ts';
import { createRefusedResponses } from './refused.ts';
import { createRequestLog } from './request-log.ts';
import { createHttpFront, LIMITS, type HttpFront } from '../http-front/index.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { SecretFileState } from '../secrets/secrets.ts';
import type {
  ConnectionDroppedEvent,
  RequestEvent,
  RequestRefusedEvent,
  StoreState,
} from '../telemetry/events.ts';

// Composes the public port: the headers of every response, the hot path for ordinary requests, and
// the Express application for the others.

/** What the public port needs of the service. */
interface PublicServerOptions {
  readonly list: BankList;
  readonly clock: Clock;
  readonly version: string;
  readonly stores: () => readonly StoreState[];
  readonly secretFiles: () => readonly SecretFileState[];
  readonly isDraining: () => boolean;
  readonly logger: Logger;
  /** Where `logger` writes what it has redacted. */
  readonly logDestination: DestinationStream;
  readonly redact: Redaction['redact'];
  readonly emit: (event: RequestEvent | RequestRefusedEvent | ConnectionDroppedEvent) => void;
}

export const createPublicServer = (config: Config, options: PublicServerOptions): HttpFront => {
  const { list, clock, logger, logDestination, redact, emit } = options;
  const cors = createCors(config.corsOrigins);
  const commonHeaders = createCommonHeaders(cors);
  const clientAddress = createClientAddress(config.trustProxy);
  const requestLog = createRequestLog({
    logger,
    logDestination,
    redact,
    clientAddress,
    emit,
  });
  const answerBanks = createAnswerBanks({
    list,
    cachePolicy: { ...config.cache, browserMaxAgeMs: config.browserMaxAgeMs },
    variesByOrigin: cors.varies,
    clock,
  });
  const banks = { list, answerBanks, requestLog };
  const refused = createRefusedResponses(commonHeaders(undefined), logger);
  return createHttpFront({
    respondToRefused: (code) => {
      emit({ type: 'request-refused', code });
      return refused.respondToRefused(code);
    },
    respondToFault: refused.respondToFault,
    onDropped: () => emit({ type: 'connection-dropped' }),
    clock,
    hotPath: config.hotPath ? createHotPath({ ...banks, commonHeaders }) : undefined,
    limits: { ...LIMITS, keepAliveTimeoutMs: config.keepAliveTimeoutMs },
    loadApp: async () => {
      const { createPublicApp } = await import('./app.ts');
      const { fields } = config.banks;
      return createPublicApp({ ...options, ...banks, cors, commonHeaders, fields });
    },
  });
};
