import type { RedisServer } from '../../test/helpers/redis-process.ts';
import type { Findings } from './findings.ts';
import type { Lateness } from './lateness.ts';
import type { Oracle } from './oracle.ts';
import type { Provider } from './provider.ts';

/** What each part of the soak works with. */
export interface Soak {
  readonly publicUrl: string;
  readonly managementUrl: string;
  readonly managementToken: string;
  readonly provider: Provider;
  readonly redis: RedisServer;
  readonly oracle: Oracle;
  readonly lateness: Lateness;
  readonly findings: Findings;
  /** Numbers in [0, 1), for each use its own. */
  readonly randomFor: (use: number) => () => number;
}
