import type { Rig } from './rig.ts';

// Clients that never stop asking for the list while something happens to the service.

/** Starts three; what it returns stops them, and resolves with the statuses that they got. */
export const startSteadyLoad = ({ url }: Rig): (() => Promise<number[]>) => {
  const statuses = new Set<number>();
  const over = new AbortController();
  const client = async (): Promise<void> => {
    while (!over.signal.aborted) {
      // oxlint-disable no-await-in-loop -- one request after the other is what a client does
      const response = await fetch(`${url}/banks`);
      await response.arrayBuffer();
      // oxlint-enable no-await-in-loop
      statuses.add(response.status);
    }
  };
  const clients = Promise.all([client(), client(), client()]);
  return async () => {
    over.abort();
    await clients;
    return [...statuses];
  };
};
