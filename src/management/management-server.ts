import type { Config } from '../config/config.ts';
import { createCors } from '../http/cors.ts';
import { createCommonHeaders } from '../http/common-headers.ts';
import { clientOf } from '../http/client-address.ts';
import { createRespondToRefused } from '../http/refused.ts';
import { createHttpFront, LIMITS, type HttpFront, type Limits } from '../http-front/index.ts';
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
    limits: { ...MANAGEMENT_LIMITS, keepAliveTimeoutMs: config.keepAliveTimeoutMs },
    respondToRefused: createRespondToRefused(commonHeaders(undefined), options.logger),
    clock: options.clock,
    clientOf,
    // Users have other connections.
    onClosed: () => undefined,
    loadApp: async (isOverCapacity) => {
      const { createManagementApp } = await import('./app.ts');
      return createManagementApp(config, { ...options, cors, commonHeaders, isOverCapacity });
    },
  });
};

/** For Prometheus, probes and some open status pages. */
const MANAGEMENT_LIMITS: Limits = {
  ...LIMITS,
  connections: 100,
  connectionsPerAddress: 25,
  connectionsOverCapacity: 20,
  heldBytes: 4 * 1024 * 1024,
};
