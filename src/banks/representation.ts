import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';

// The published list as bytes, in each content encoding, with a validator for each. Made once for
// each new list, off the event loop, and never per request.

/** The encodings of a list, smallest result first: measured 7.2, 8.7 and 31.7 kB for 513 banks. */
export const ENCODINGS = ['br', 'gzip', 'identity'] as const;

export type Encoding = (typeof ENCODINGS)[number];

/** The list in one content encoding. */
export type Representation = Readonly<ReturnType<typeof named>>;

/** The list in each encoding. */
export type Representations = Readonly<Record<Encoding, Representation>>;

/**
 * Encodes the JSON of a list that has been checked and narrowed. Returns `previous` if its bytes
 * are the same, as in most renewals.
 */
export const represent = async (
  bytes: Buffer,
  previous?: Representations,
  { gzip, br: brotli }: Compressors = COMPRESSORS,
): Promise<Representations> => {
  const identity = named('identity', bytes);
  if (previous?.identity.etag === identity.etag) return previous;
  // One after the other, so that one thread at a time competes with the one that answers.
  const gz = await gzip(bytes);
  const br = await brotli(bytes);
  return { identity, gzip: named('gzip', gz), br: named('br', br) };
};

/** Compresses a list, off the event loop. */
export type Compressors = Readonly<Record<'gzip' | 'br', Compress>>;
type Compress = (bytes: Buffer) => Promise<Buffer>;

const named = (encoding: Encoding, body: Buffer) => ({
  encoding,
  body,
  /**
   * A strong validator (RFC 9110 section 8.8.3), quotes included: a hash of these very bytes, so it
   * differs between encodings and is equal on every replica that holds the same list and has the
   * same compressor.
   */
  etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`,
});

const gzipCompress = promisify<zlib.InputType, zlib.ZlibOptions, Buffer>(zlib.gzip);
const brotliCompress = promisify<zlib.InputType, zlib.BrotliOptions, Buffer>(zlib.brotliCompress);

/**
 * Above this many bytes the slowest level costs more than it gives: brotli 11 takes 26 ms for 32
 * kB, 0.2 s for 256 kB and 1.2 s for 1 MB, in which a first list would keep its clients waiting;
 * brotli 9 takes 0.07 s for 1 MB.
 */
const BEST_LEVEL_MAX_BYTES = 256 * 1024;

const brotli: Compress = (bytes: Buffer) =>
  brotliCompress(bytes, {
    params: {
      [zlib.constants.BROTLI_PARAM_QUALITY]: bytes.length <= BEST_LEVEL_MAX_BYTES ? 11 : 9,
      [zlib.constants.BROTLI_PARAM_MODE]: zlib.constants.BROTLI_MODE_TEXT,
      [zlib.constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });

const COMPRESSORS: Compressors = {
  gzip: (bytes) => gzipCompress(bytes, { level: 9 }),
  br: brotli,
};
