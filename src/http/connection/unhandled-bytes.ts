// The bytes of one connection that have been read but not handled yet, and where the next piece ends.

export interface UnhandledBytes {
  isEmpty(): boolean;
  add(chunk: Buffer): void;
  /** The bytes up to the end of the next head, or all of them if no head ends. */
  next(): Buffer;
  /** Removes the first `length` bytes. */
  drop(length: number): void;
  clear(): void;
  /** Copies the bytes: as a slice they would keep the whole read in memory. */
  own(): void;
  /** The memory that the bytes keep in use. */
  keptBytes(): number;
}

export const createUnhandledBytes = (): UnhandledBytes => {
  let rest: Buffer = NOTHING;
  return {
    isEmpty: () => rest.length === 0,
    add: (chunk) => (rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])),
    next: () => {
      const end = rest.indexOf(END_OF_HEAD);
      return end < 0 ? rest : rest.subarray(0, end + END_OF_HEAD.length);
    },
    drop: (length) => (rest = length < rest.length ? rest.subarray(length) : NOTHING),
    clear: () => (rest = NOTHING),
    own: () => (rest = Buffer.from(rest)),
    keptBytes: () => (rest.length === 0 ? 0 : rest.buffer.byteLength),
  };
};

const NOTHING = Buffer.alloc(0);
const END_OF_HEAD = '\r\n\r\n';
