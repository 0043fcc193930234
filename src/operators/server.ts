import { LIMITS, type Limits } from '../http/listener/limits.ts';
import {
  createPublicServer,
  listen,
  type PublicServer,
  type PublicServerOptions,
} from '../http/listener/server.ts';

// The management port's listener: bounded as the public one is, for fewer clients.

type ManagementServerOptions = Omit<PublicServerOptions, 'hotPath'>;

export interface ManagementServer extends Pick<
  PublicServer,
  'isOverCapacity' | 'isUsedUp' | 'serve' | 'close'
> {
  /** As {@link listen}. */
  listen(address: { readonly port: number; readonly host: string }): Promise<string>;
}

/** Prometheus, probes, some open status pages; and the wrong tokens that wait for their answer. */
const MANAGEMENT_LIMITS: Limits = { ...LIMITS, connections: 100, spareConnections: 20 };

export const createManagementServer = (options: ManagementServerOptions): ManagementServer => {
  const { server, ...rest } = createPublicServer({ limits: MANAGEMENT_LIMITS, ...options });
  return { ...rest, listen: (address) => listen(server, address) };
};
