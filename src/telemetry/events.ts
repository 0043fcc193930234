import type { ListEvent } from '../banks/list-event.ts';
import type { TokenEvent } from '../provider/client-credentials.ts';
import type { ProviderEvent } from '../provider/provider.ts';
import type { StoreEvent } from '../sharing/list-store.ts';

// Everything that happens in the service and that operators may want to know: facts, told once where they happen. The
// log, the metrics and the history subscribe to them, and nothing else depends on being told.

export type ServiceEvent = ListEvent | StoreEvent | TokenEvent | ProviderEvent;
