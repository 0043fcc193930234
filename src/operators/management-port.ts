import type { DestinationStream, Logger } from 'pino';
import type { BankList } from '../banks/bank-list.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createClientAddress } from '../http/client-address.ts';
import { createCors } from '../http/cors.ts';
import { createRequestLog } from '../http/log/request-log.ts';
import { createSecurityHeaders } from '../http/headers.ts';
import type { Redaction } from '../secrets/redaction.ts';
import { createSecretFile } from '../secrets/secret-file.ts';
import { MANAGEMENT_TOKEN_RULE } from '../secrets/secret.ts';
import type { History } from '../telemetry/history.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createManagementServer } from './server.ts';
import type { DrainTimes } from './status-page/verdict.ts';

// The management port, put together: status page, metrics, health, refresh. For operators; no other origin is allowed.

export interface ManagementPortOptions {
  readonly list: BankList;
  readonly version: string;
  /** When the drain under way ends; undefined: there is none. */
  readonly drain: () => DrainTimes | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where `logger` writes. */
  readonly logDestination: DestinationStream;
  readonly redaction: Redaction;
  readonly metrics: Metrics;
  readonly history: History;
}

export interface ManagementPort {
  /** Loads Express, which takes a tenth of a second. Call it before `listen`. */
  load(): Promise<void>;
  /** Resolves with the address; undefined with `MANAGEMENT_PORT=off`. Rejects with Node's error, such as EADDRINUSE. */
  listen(): Promise<string | undefined>;
  /** Closes it now, with every connection. */
  close(): void;
}

export const createManagementPort = (config: Config, options: ManagementPortOptions): ManagementPort => {
  const { list, version, drain, clock, logger, redaction, metrics, history } = options;
  const cors = createCors([]);
  const securityHeaders = createSecurityHeaders(cors);
  const server = createManagementServer({
    commonHeaders: securityHeaders,
    onRefusal: (refusal) => logger.info(refusal, 'request refused'),
    clock,
  });
  return {
    load: async () => {
      const { createOperatorsApp } = await import('./app.ts');
      const app = createOperatorsApp({
        list,
        version,
        environment: config.provider.environment,
        isDraining: () => drain() !== undefined,
        cors,
        securityHeaders,
        server,
        hosts: config.management.hosts,
        clock,
        // These requests are logged and not counted: they are not users'.
        requestLog: createRequestLog({
          logger,
          destination: options.logDestination,
          redact: redaction.redact,
          clientAddress: createClientAddress(config.trustProxy),
        }),
        token: tokenOf(config, redaction),
        metrics,
        statusPage: {
          wallMs: () => clock.wallMs(),
          policy: config.cache,
          fields: config.banks.fields,
          minutes: () => history.minutes(),
          drain,
        },
      });
      server.serve(app);
    },
    listen: async () => config.management.listen && server.listen(config.management.listen),
    close: () => server.close(),
  };
};

/** Reads the token that `POST /refresh` needs; undefined: the operation is off. */
const tokenOf = (
  { management: { token } }: Config,
  { addSecret }: Redaction,
): (() => Promise<string>) | undefined => {
  if (token === undefined) return undefined;
  if ('reveal' in token) return () => Promise.resolve(token.reveal());
  const rule = MANAGEMENT_TOKEN_RULE;
  return createSecretFile({ variable: 'MANAGEMENT_TOKEN_FILE', path: token.path, rule, addSecret });
};
