import type { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { LoadError } from '../banks/load-error.ts';
import { codeNote } from './connection-errors.ts';

// The body of an answer: decompressed, and never larger than its limit.

/**
 * Collects a body as it is decompressed, in one buffer: neither a bomb nor a body in pieces of one byte, each of which
 * would be an object, costs more memory than twice `maxBytes`.
 * @param contentEncoding the header; gzip, br and identity are decoded
 * @throws {LoadError} `malformed` or `too_large`; the signal's reason
 */
export const readBody = async (
  source: Readable,
  contentEncoding: string | undefined,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> => {
  const decoder = decoderFor(contentEncoding);
  let body = Buffer.allocUnsafe(Math.min(FIRST_BODY_BYTES, maxBytes));
  let bytes = 0;
  let chunks = 0;
  const collect = async (decoded: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of decoded) {
      const start = bytes;
      bytes += chunk.length;
      if (bytes > maxBytes) return;
      if (bytes > body.length) {
        const grown = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(bytes, body.length * 2)));
        body.copy(grown, 0, 0, start);
        body = grown;
      }
      chunk.copy(body, start);
      chunks += 1;
      // Buffered chunks are iterated without a pause; in pieces of one byte that would take half a second.
      // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
      if (chunks % CHUNKS_PER_TURN === 0) await setImmediate();
    }
  };
  try {
    await (decoder ? pipeline(source, decoder, collect, { signal }) : pipeline(source, collect, { signal }));
  } catch (error) {
    signal.throwIfAborted();
    // Leaving the loop early ends the pipeline with an error of its own.
    if (bytes <= maxBytes) throw new LoadError('malformed', `the answer's body broke off${codeNote(error)}`);
  }
  if (bytes > maxBytes) throw new LoadError('too_large', `the answer has more than ${maxBytes} bytes`);
  return body.subarray(0, bytes);
};

const FIRST_BODY_BYTES = 64 * 1024;
const CHUNKS_PER_TURN = 1_000;

const decoderFor = (contentEncoding = 'identity'): Duplex | undefined => {
  const encoding = contentEncoding.trim().toLowerCase();
  if (encoding === 'identity') return undefined;
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip();
  if (encoding === 'br') return createBrotliDecompress();
  throw new LoadError('malformed', 'the answer has an encoding that was not asked for');
};
