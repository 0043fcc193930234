import type { CachedList, HeldList, ListTimes, LoadedList, Sent } from './cached-list.ts';
import { guard, type Acceptance, type GuardPolicy } from './guard/guard.ts';
import { represent, type Compressors } from './representation.ts';

// The only way to replace the cached list: a new one is judged, encoded, judged again beside what is cached by then, and
// set in the same turn of the event loop. So nothing can change between the last judgement and the replacement.

export interface AdmissionOptions {
  readonly cached: CachedList;
  readonly guard: GuardPolicy;
  /** Node's own unless given. */
  readonly compressors?: Compressors | undefined;
  /** Called once another list is cached. */
  readonly onTaken: () => void;
}

export interface Proposal {
  readonly sent: Sent;
  /**
   * The reasons for which it is not refused as a successor of `cached`, or that it must not succeed it at all. Asked
   * again once the list is encoded.
   */
  readonly waive: (cached: HeldList | undefined) => readonly Acceptance[] | 'overtaken';
  /** What it has besides its content as the successor of `previous`, which may have the same content. */
  readonly asSuccessor: (
    previous: HeldList | undefined,
    isUnchanged: boolean,
  ) => ListTimes & Partial<LoadedList>;
}

/** The list that is cached now, and the one before it. */
export interface Taken {
  readonly list: HeldList;
  readonly previous: HeldList | undefined;
}

export interface Admission {
  /**
   * Replaces the cached list; undefined where the new one is overtaken.
   * @throws {LoadError} when the guard refuses it
   */
  take(loaded: LoadedList, proposal: Proposal): Promise<Taken | undefined>;
  /** Renews `list`, of which the provider said that it has not changed; undefined where another one is cached by now. */
  confirm(list: HeldList, received: Sent & Pick<ListTimes, 'receivedAtMs'>): Taken | undefined;
}

export const createAdmission = ({
  cached,
  guard: policy,
  compressors,
  onTaken,
}: AdmissionOptions): Admission => {
  const set = (list: HeldList): Taken => {
    const previous = cached.get();
    cached.set(list);
    onTaken();
    return { list, previous };
  };
  return {
    take: async (loaded, { sent, waive, asSuccessor }) => {
      const mayReplace = (): boolean => {
        const waived = waive(cached.get());
        if (waived === 'overtaken') return false;
        guard(loaded, cached.get(), policy, waived);
        return true;
      };
      if (!mayReplace()) return undefined;
      const encoded = await represent(loaded.json, cached.get()?.representations, compressors);
      if (!mayReplace()) return undefined;
      const previous = cached.get();
      const isUnchanged = previous?.representations.identity.etag === encoded.identity.etag;
      // An unchanged list is in memory once, with the very bytes that are served.
      const representations = isUnchanged ? previous.representations : encoded;
      const list = { ...loaded, json: representations.identity.body, representations };
      return set({ ...list, ...sent, ...asSuccessor(previous, isUnchanged) });
    },
    confirm: (list, received) => (list === cached.get() ? set({ ...list, ...received }) : undefined),
  };
};

/** The resolution of an HTTP date. */
const SECOND_MS = 1_000;

/**
 * When the content that replaces `previous` was first seen, in wall-clock milliseconds. It goes on by at least a second with
 * each change, also after the clock was set back: otherwise If-Modified-Since would take the new content for the old.
 */
export const changedAt = (
  previous: Pick<HeldList, 'changedAtMs'> | undefined,
  isUnchanged: boolean,
  seenAtMs: number,
): number =>
  previous && isUnchanged
    ? previous.changedAtMs
    : Math.max(seenAtMs, previous ? previous.changedAtMs + SECOND_MS : -Infinity);
