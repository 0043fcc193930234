import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { LoadError } from '../banks/load-error.ts';
import { codeNote } from './connection-errors.ts';

// Reads the bytes of a response, decompressed and up to a limit, without checking their content.

export interface ProviderResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly retryAfter: string | undefined;
  /** When the sender wrote the response, by its own clock. */
  readonly date: string | undefined;
  readonly link: string | undefined;
  /** Decompressed; empty if the status says enough. */
  readonly body: Buffer;
}

/**
 * Reads the whole response.
 * @param needsBody whether the body of a response with this status is needed; others are discarded
 * @param maxBytes the largest body, compressed or not
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

/**
 * The longest wait for the end of a body that is not needed, before the status and `Retry-After`
 * are used.
 */
const DISCARD_MS = 500;

/** The first value of a header. */
export const headerOf = ({ headers }: Dispatcher.ResponseData, name: string): string | undefined =>
  [headers[name]].flat()[0];

/** The value of a header that is a list and may have several lines (RFC 9110 section 5.3). */
const listHeaderOf = ({ headers }: Dispatcher.ResponseData, name: string): string | undefined =>
  headers[name] && [headers[name]].flat().join(', ');

/**
 * Collects a body in one buffer while it is decompressed. Neither a decompression bomb nor a body
 * in chunks of one byte, each one an object, takes more memory than `maxBytes`.
 */
const readBody = async (
  received: Dispatcher.ResponseData,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> => {
  const decoder = decoderFor(listHeaderOf(received, 'content-encoding'));
  // The system provides memory only for the part that is written.
  const body = Buffer.allocUnsafeSlow(maxBytes);
  let bytes = 0;
  let chunks = 0;
  let compressedBytes = 0;
  /** A decoder may read any number of bytes without output, for example a file name in gzip. */
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
        // Otherwise this would wait for the next bytes, which the decoder has asked for.
        source.destroy();
        return;
      }
      chunks += 1;
      // Iterating over buffered chunks blocks the event loop: for half a second if they have one
      // byte each.
      // oxlint-disable-next-line no-await-in-loop -- sequential on purpose
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
    // Leaving the loop early makes the pipeline fail.
    if (!isTooLarge())
      throw new LoadError('malformed', `the body of the response was cut short${codeNote(error)}`);
  }
  if (isTooLarge())
    throw new LoadError('too_large', `the response has more than ${maxBytes} bytes`);
  return body.subarray(0, bytes);
};

const CHUNKS_PER_TURN = 1_000;

/** The decoder for a list of codings (RFC 9110 section 8.4); at most one may change the bytes. */
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
