import type { Config } from '../config/config.ts';
import { createCors } from '../http/cors.ts';
import { createCommonHeaders } from '../http/common-headers.ts';
import { createRefusedResponses } from '../http/refused.ts';
import { createHttpFront, LIMITS, type HttpFront } from '../http-front/index.ts';
import type { ManagementServerOptions } from './app.ts';

// The management port: bounded as the public one is, for fewer clients. It is for operators; no
// other origin is allowed.

export const createManagementServer = (
  config: Config,
  options: ManagementServerOptions,
): HttpFront => {
  const cors = createCors([]);
  const commonHeaders = createCommonHeaders(cors);
  return createHttpFront({
    limits: {
      ...LIMITS,
      connections: MAX_CONNECTIONS,
      keepAliveTimeoutMs: config.keepAliveTimeoutMs,
    },
    ...createRefusedResponses(commonHeaders(undefined), options.logger),
    clock: options.clock,
    loadApp: async () => {
      const { createManagementApp } = await import('./app.ts');
      return createManagementApp(config, { ...options, cors, commonHeaders });
    },
  });
};

/** For Prometheus, probes and some open status pages. */
const MAX_CONNECTIONS = 100;
