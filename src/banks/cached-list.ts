import type { GuardedList } from './guard.ts';
import type { LoadedList } from './reading/list-reader.ts';
import type { Representations } from './representation.ts';

// The list that is cached, served and shared.

export interface CachedList extends GuardedList, Pick<LoadedList, 'rejected' | 'hasNextPage'> {
  /**
   * 22 digits: 16 of microseconds, when the list was asked for by the clock of Redis, and 6 random
   * ones. The greater id is the later list, on all replicas.
   */
  readonly id: string;
  /** When it was asked for, by this process's clock; its age counts from here. */
  readonly askedAtMs: number;
  /** When this content was first seen, by the wall clock of whoever saw it: `Last-Modified`. */
  readonly changedAtMs: number;
  readonly representations: Representations;
}

/** A list that may be served now. `freshForMs` is negative once it is stale. */
export interface ServedList {
  readonly list: CachedList;
  readonly freshForMs: number;
}
