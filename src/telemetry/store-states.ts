import type { Clock } from '../clock.ts';
import type { StoreName } from '../sharing/list-store.ts';
import type { ServiceEvent } from './events.ts';

// Whether each configured store works, for /healthz and the status page. A store works until it fails.

export interface StoreState {
  readonly name: StoreName;
  /** Undefined while it works. `sinceMs` is in wall-clock milliseconds; the newest reason is in the words of the log. */
  readonly failing: { readonly sinceMs: number; readonly reason: string } | undefined;
}

export interface StoreStates {
  onEvent(event: ServiceEvent): void;
  /** All configured stores, in their order. */
  current(): readonly StoreState[];
}

export const createStoreStates = (names: readonly StoreName[], clock: Pick<Clock, 'wallMs'>): StoreStates => {
  const states = new Map<StoreName, StoreState['failing']>(names.map((name) => [name, undefined]));
  return {
    onEvent: (event) => {
      if (event.type === 'store-failed') {
        const { sinceMs = clock.wallMs() } = states.get(event.store) ?? {};
        states.set(event.store, { sinceMs, reason: event.reason });
      } else if (event.type === 'store-recovered' || event.type === 'store-empty') {
        states.set(event.store, undefined);
      }
    },
    current: () => [...states].map(([name, failing]) => ({ name, failing })),
  };
};
