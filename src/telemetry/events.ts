import type { ListEvent } from '../banks/bank-list.ts';
import type { TokenEvent } from '../provider/client-credentials.ts';
import type { StoreEvent } from '../sharing/list-store.ts';

// Everything that happens in the service and that operators may want to know: facts, told once where they happen. The
// log, the metrics and the history subscribe to them, and nothing else depends on being told.

export type ServiceEvent = ListEvent | StoreEvent | TokenEvent | ProviderEvent;

/** One exchange with the provider has ended; `status` is undefined where no answer came that could be read. */
export interface ProviderEvent {
  readonly type: 'provider-called';
  readonly status: number | undefined;
  readonly durationMs: number;
}
