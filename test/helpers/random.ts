// Random numbers and mutations that a seed repeats.

/** Mulberry32: the same numbers in [0, 1) again for the same seed. */
export const createRandom = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

/** Cuts, repeats or replaces bytes, or inserts one of `pieces`, at a random place. */
export const mutate = (bytes: string, random: () => number, pieces: readonly string[]): string => {
  const at = Math.floor(random() * bytes.length);
  const length = Math.floor(random() * 8);
  switch (Math.floor(random() * 4)) {
    case 0:
      return bytes.slice(0, at) + bytes.slice(at + length);
    case 1:
      return (
        bytes.slice(0, at) + (pieces[Math.floor(random() * pieces.length)] ?? '') + bytes.slice(at)
      );
    case 2:
      return (
        bytes.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + bytes.slice(at + 1)
      );
    default:
      return bytes.slice(0, at) + bytes.slice(at, at + length).repeat(3) + bytes.slice(at + length);
  }
};

/** Bytes that have confused HTTP parsers. */
export const AWKWARD_BYTES = ['\r\n', '\n', '\r', '\0', ' ', '\t', ':', '\xff'];

/** Pieces that change the meaning of a request, for mutations. */
export const PIECES_OF_REQUESTS = [
  ...AWKWARD_BYTES,
  ...', " * % 0 / -1 chunked HTTP/1.1'.split(' '),
  'Host: b\r\n',
  'Content-Length: 3\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Expect: 100-continue\r\n',
];
