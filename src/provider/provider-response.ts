import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import { codeNote } from './connection-errors.ts';

// The bytes of a response, before anything in them is checked: decompressed, and never more than
// their limit.

export interface ProviderResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly retryAfter: string | undefined;
  /** When the sender wrote the response, by its own clock. */
  readonly date: string | undefined;
  readonly link: string | undefined;
  /** Decompressed; empty where the status says enough. */
  readonly body: Buffer;
}

/**
 * Reads the whole response.
 * @param needsBody whether the body of a response with this status is needed; others are discarded
 * @param maxBytes most of a body, compressed or not
 * @throws {LoadError} `malformed` or `too_large`; the signal's reason
 */
export const readResponse = async (
  received: Dispatcher.ResponseData,
  needsBody: (status: number) => boolean,
  maxBytes: number,
  signal: AbortSignal,
): Promise<ProviderResponse> => {
  const response = {
    status: received.statusCode,
    contentType: headerOf(received, 'content-type'),
    retryAfter: headerOf(received, 'retry-after'),
    date: headerOf(received, 'date'),
    link: listHeaderOf(received, 'link'),
  };
  if (needsBody(response.status))
    return { ...response, body: await readBody(received, maxBytes, signal) };
  // Not destroy(): an unread undici body without an error listener would end the process.
  const enough = AbortSignal.any([signal, AbortSignal.timeout(DISCARD_MS)]);
  await received.body.dump({ limit: 65_536, signal: enough }).catch(() => signal.throwIfAborted());
  return { ...response, body: Buffer.alloc(0) };
};

/** A body that is not needed, and does not end, hides no status and no `Retry-After` for longer. */
const DISCARD_MS = 500;

/** The first value of a header. */
export const headerOf = ({ headers }: Dispatcher.ResponseData, name: string): string | undefined =>
  [headers[name]].flat()[0];

/** The value of a header that is a list, which may be in several lines (RFC 9110, section 5.3). */
const listHeaderOf = ({ headers }: Dispatcher.ResponseData, name: string): string | undefined =>
  headers[name] && [headers[name]].flat().join(', ');

/**
 * Collects a body as it is decompressed, in one buffer: neither a bomb nor a body in pieces of one
 * byte, each of which would be an object, costs more memory than `maxBytes`.
 */
const readBody = async (
  received: Dispatcher.ResponseData,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> => {
  const decoder = decoderFor(listHeaderOf(received, 'content-encoding'));
  // The system gives the memory only where bytes are written.
  const body = Buffer.allocUnsafeSlow(maxBytes);
  let bytes = 0;
  let chunks = 0;
  let compressedBytes = 0;
  /** A decoder may read any number of bytes and give none, such as those of a file name in gzip. */
  const limitCompressed = async function* (compressed: AsyncIterable<Buffer>) {
    for await (const chunk of compressed) {
      compressedBytes += chunk.length;
      if (compressedBytes > maxBytes) return;
      yield chunk;
    }
  };
  const source = received.body;
  const collect = async (decoded: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of decoded) {
      chunk.copy(body, bytes);
      bytes += chunk.length;
      if (bytes > maxBytes) {
        // Otherwise the next bytes are waited for: the decoder has asked for them.
        source.destroy();
        return;
      }
      chunks += 1;
      // Buffered chunks are iterated without a pause; in pieces of one byte that would take half a
      // second.
      // oxlint-disable-next-line no-await-in-loop -- one chunk after the other
      if (chunks % CHUNKS_PER_TURN === 0) await setImmediate();
    }
  };
  const isTooLarge = (): boolean => Math.max(bytes, compressedBytes) > maxBytes;
  try {
    await (decoder
      ? pipeline(source, limitCompressed, decoder, collect, { signal })
      : pipeline(source, collect, { signal }));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LoadError) throw error;
    // Leaving a loop early ends the pipeline with an error of its own.
    if (!isTooLarge())
      throw new LoadError('malformed', `the body of the response was cut short${codeNote(error)}`);
  }
  if (isTooLarge())
    throw new LoadError('too_large', `the response has more than ${maxBytes} bytes`);
  return body.subarray(0, bytes);
};

const CHUNKS_PER_TURN = 1_000;

/** By a list of codings (RFC 9110 section 8.4), of which at most one may change the bytes. */
const decoderFor = (contentEncoding = ''): Duplex | undefined => {
  const [coding, ...others] = contentEncoding
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && each !== 'identity');
  if (coding === undefined) return undefined;
  if (others.length === 0) {
    if (coding === 'gzip' || coding === 'x-gzip') return createGunzip();
    if (coding === 'br') return createBrotliDecompress();
  }
  throw new LoadError('malformed', 'the response has an encoding that was not requested');
};
