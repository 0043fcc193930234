import type { Config } from '../config/config.ts';
import { createCors } from '../http/cors.ts';
import { createCommonHeaders } from '../http/common-headers.ts';
import { MANAGEMENT_LIMITS } from '../http/server/limits.ts';
import { createBoundedServer, type BoundedServer } from '../http/server/server.ts';
import type { OperatorsAppOptions } from './app.ts';

// The management port: bounded as the public one is, for fewer clients. It is for operators; no
// other origin is allowed.

export const createManagementServer = (
  config: Config,
  options: Omit<OperatorsAppOptions, 'cors' | 'commonHeaders' | 'server'>,
): BoundedServer => {
  const cors = createCors([]);
  const commonHeaders = createCommonHeaders(cors);
  const server = createBoundedServer({
    limits: { ...MANAGEMENT_LIMITS, keepAliveTimeoutMs: config.keepAliveTimeoutMs },
    commonHeaders: commonHeaders(undefined),
    onRefusal: (refusal) => options.logger.info(refusal, 'request refused'),
    clock: options.clock,
    loadApp: async () => {
      const { createOperatorsApp } = await import('./app.ts');
      return createOperatorsApp(config, { ...options, cors, commonHeaders, server });
    },
  });
  return server;
};
