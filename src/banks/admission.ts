import type { Clock } from '../clock.ts';
import type { HeldList, LoadedList } from './cached-list.ts';
import { guard, type Acceptance, type GuardPolicy } from './guard/guard.ts';
import { represent, type Compressors } from './representation.ts';

export interface AdmissionOptions {
  readonly guard: GuardPolicy;
  readonly clock: Clock;
  /** Node's own unless given. */
  readonly compressors?: Compressors | undefined;
}

/**
 * A new list as it will be served: checked against `previous`, which it is to replace, and encoded.
 * @throws {LoadError} when the guard refuses it
 */
export const admit = async (
  loaded: LoadedList,
  previous: HeldList | undefined,
  accept: readonly Acceptance[],
  { guard: policy, clock, compressors }: AdmissionOptions,
): Promise<HeldList> => {
  guard(loaded, previous, policy, accept);
  const receivedAtMs = clock.wallMs();
  const representations = await represent(loaded.json, previous?.representations, compressors);
  const isUnchanged = representations === previous?.representations;
  return {
    ...loaded,
    // The very bytes that are served, so that an unchanged list is in memory once.
    json: representations.identity.body,
    representations,
    receivedAtMs,
    changedAtMs: isUnchanged ? previous.changedAtMs : receivedAtMs,
    acceptedAtMs: previous?.acceptedAtMs,
  };
};
