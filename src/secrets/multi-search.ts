// Looks for many byte patterns at once, in steps that depend on the text's length only (Aho and Corasick, "Efficient string
// matching: an aid to bibliographic search", 1975).

export interface Match {
  /** Of the pattern, in the order in which they were given. */
  readonly pattern: number;
  /** Index after the last byte. */
  readonly end: number;
}

export interface Search {
  /** Every occurrence of every pattern in the first `length` bytes; `steps`, transitions followed, is below 2 × `length`. */
  find(bytes: Uint8Array, length: number): { readonly matches: Match[]; readonly steps: number };
}

interface State {
  readonly next: Map<number, State>;
  /** The state of the longest proper suffix that is also the beginning of a pattern. */
  fallback: State | undefined;
  /** The patterns that end here, those that end here as suffixes included. */
  patterns: readonly number[];
}

/** @param patterns none of them empty */
export const createSearch = (patterns: readonly Uint8Array[]): Search => {
  const root = createState();
  for (const [index, pattern] of patterns.entries()) {
    let state = root;
    for (const byte of pattern) {
      let next = state.next.get(byte);
      if (!next) state.next.set(byte, (next = createState()));
      state = next;
    }
    state.patterns = [...state.patterns, index];
  }
  linkFallbacks(root);

  return {
    find: (bytes, length) => {
      const matches: Match[] = [];
      let steps = 0;
      let state = root;
      for (let index = 0; index < length; index += 1) {
        const byte = bytes[index] ?? 0;
        let next = state.next.get(byte);
        while (!next && state.fallback) {
          steps += 1;
          state = state.fallback;
          next = state.next.get(byte);
        }
        steps += 1;
        if (!next) continue;
        state = next;
        for (const pattern of state.patterns) matches.push({ pattern, end: index + 1 });
      }
      return { matches, steps };
    },
  };
};

const createState = (): State => ({ next: new Map(), fallback: undefined, patterns: [] });

/** Breadth first, since a fallback is always shorter than the state that falls back to it. */
const linkFallbacks = (root: State): void => {
  const queue = [root];
  for (const state of queue) {
    for (const [byte, next] of state.next) {
      let { fallback } = state;
      while (fallback && !fallback.next.has(byte)) ({ fallback } = fallback);
      next.fallback = fallback?.next.get(byte) ?? root;
      next.patterns = [...next.patterns, ...next.fallback.patterns];
      queue.push(next);
    }
  }
};
