import type { Config } from '../config/config.ts';
import { createCors } from '../http/cors.ts';
import { createSecurityHeaders } from '../http/headers.ts';
import { MANAGEMENT_LIMITS } from '../http/server/limits.ts';
import { createBoundedServer } from '../http/server/server.ts';
import type { OperatorsAppOptions } from './app.ts';

// The management port: bounded as the public one is, for fewer clients. It is for operators; no other origin is allowed.

export type ManagementPortOptions = Omit<OperatorsAppOptions, 'cors' | 'securityHeaders' | 'server'>;

export interface ManagementPort {
  /** Loads Express, which takes a tenth of a second. Call it before `listen`. */
  load(): Promise<void>;
  /** Resolves with the address; undefined with `MANAGEMENT_PORT=off`. Rejects with Node's error, such as EADDRINUSE. */
  listen(): Promise<string | undefined>;
  /** Closes it now, with every connection. */
  close(): Promise<void>;
}

export const createManagementPort = (config: Config, options: ManagementPortOptions): ManagementPort => {
  const cors = createCors([]);
  const securityHeaders = createSecurityHeaders(cors);
  const server = createBoundedServer({
    limits: { ...MANAGEMENT_LIMITS, keepAliveTimeoutMs: config.keepAliveTimeoutMs },
    commonHeaders: securityHeaders,
    onRefusal: (refusal) => options.logger.info(refusal, 'request refused'),
    clock: options.clock,
  });
  return {
    load: async () => {
      const { createOperatorsApp } = await import('./app.ts');
      server.serve(createOperatorsApp(config, { ...options, cors, securityHeaders, server }));
    },
    listen: async () => config.management.listen && server.listen(config.management.listen),
    close: () => server.close(),
  };
};
