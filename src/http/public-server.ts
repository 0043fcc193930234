import type { Config } from '../config/config.ts';
import type { HttpFront } from '../http-front/index.ts';
import type { ConnectionDroppedEvent, RequestEvent } from '../telemetry/events.ts';
import { createAnswerBanks } from './banks/answer.ts';
import { createBanksRoute, createHotPath } from './banks/route.ts';
import { createHealthz, PROBES, type HealthOptions } from './probes.ts';
import { createOpenApiRoute } from './openapi.ts';
import { createPort, type PortOptions } from './port.ts';

// The public port: the hot path for ordinary requests, and Express for the others.

interface PublicServerOptions extends PortOptions, HealthOptions {
  readonly version: string;
  readonly emit: (event: RequestEvent | ConnectionDroppedEvent) => void;
}

export const createPublicServer = (config: Config, options: PublicServerOptions): HttpFront =>
  createPort(config, {
    ...options,
    origins: config.corsOrigins,
    isRoutine: (route) => PROBES.has(route),
    define: ({ resource, cors, commonHeaders, requestLog }) => {
      const answerBanks = createAnswerBanks({
        ...options,
        cachePolicy: { ...config.cache, browserMaxAgeMs: config.browserMaxAgeMs },
        variesByOrigin: cors.varies,
      });
      const banks = { ...options, answerBanks, commonHeaders, requestLog };
      resource('/banks', createBanksRoute(banks));
      resource('/healthz', createHealthz(options));
      resource('/openapi.json', createOpenApiRoute({ ...options, fields: config.banks.fields }));
      return config.hotPath ? createHotPath(banks) : undefined;
    },
  });
