import { pipeline } from 'node:stream/promises';
import type { Duplex, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { request, type Dispatcher } from 'undici';
import { LoadError } from '../banks/load-error.ts';

// One exchange with the provider: asks, and hands over the answer's bytes unjudged. The token goes to the given
// address and nowhere else: undici's `request` follows no redirect, and no error from here carries a header.

export interface ProviderAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly retryAfter: string | undefined;
  /** Decompressed; empty unless the status is 200. */
  readonly body: Buffer;
}

export interface BanksRequestOptions {
  readonly dispatcher: Dispatcher;
  readonly baseUrl: URL;
  /** Largest body, counted after decompression. */
  readonly maxBodyBytes: number;
}

/**
 * `GET {base_url}/api/v1/banks`.
 * @param signal ends the whole exchange, a body that drips included: the deadline is its owner's
 * @throws {LoadError} `unreachable`, `too_large`, `malformed`, or the signal's reason
 */
export const requestBanks = async (
  { dispatcher, baseUrl, maxBodyBytes }: BanksRequestOptions,
  accessToken: string,
  signal: AbortSignal,
): Promise<ProviderAnswer> => {
  const response = await request(banksUrl(baseUrl), {
    dispatcher,
    signal,
    headers: {
      accept: 'application/json',
      'accept-encoding': 'br, gzip',
      authorization: `Bearer ${accessToken}`,
    },
  }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : toConnectionError(error);
  });
  const header = (name: string): string | undefined => [response.headers[name]].flat()[0];
  const answer = {
    status: response.statusCode,
    contentType: header('content-type'),
    retryAfter: header('retry-after'),
  };
  if (answer.status !== 200) {
    // Not destroy(): an unread undici body without an error listener would end the process.
    await response.body.dump({ limit: 65_536, signal }).catch(() => undefined);
    signal.throwIfAborted();
    return { ...answer, body: Buffer.alloc(0) };
  }
  const body = await readBody(response.body, header('content-encoding'), maxBodyBytes, signal);
  return { ...answer, body };
};

/** Collects a body as it is decompressed, chunk by chunk, so that a bomb costs no more memory than the limit. */
export const readBody = async (
  source: Readable,
  contentEncoding: string | undefined,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> => {
  const decoder = decoderFor(contentEncoding);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const collect = async (decoded: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of decoded) {
      bytes += chunk.length;
      if (bytes > maxBytes) return;
      chunks.push(chunk);
    }
  };
  try {
    await (decoder ? pipeline(source, decoder, collect, { signal }) : pipeline(source, collect, { signal }));
  } catch (error) {
    signal.throwIfAborted();
    // Leaving the loop early ends the pipeline with an error of its own.
    if (bytes <= maxBytes) throw new LoadError('malformed', `the answer's body broke off${codeOf(error)}`);
  }
  if (bytes > maxBytes) throw new LoadError('too_large', `the answer has more than ${maxBytes} bytes`);
  return Buffer.concat(chunks);
};

/** Only the path changes: resolved as a reference, a base path that begins with `//` would name another host. */
const banksUrl = (baseUrl: URL): URL => {
  const url = new URL(baseUrl);
  url.pathname = `${baseUrl.pathname.replace(/\/+$/, '')}/api/v1/banks`;
  return url;
};

const decoderFor = (contentEncoding = 'identity'): Duplex | undefined => {
  const coding = contentEncoding.trim().toLowerCase();
  if (coding === 'identity') return undefined;
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip();
  if (coding === 'br') return createBrotliDecompress();
  throw new LoadError('malformed', 'the answer has a content coding that was not asked for');
};

const toConnectionError = (error: unknown): LoadError => {
  const code = codeOf(error);
  // What answers is there, but does not speak HTTP.
  if (/HPE_|HEADERS_OVERFLOW/.test(code)) return new LoadError('malformed', `the answer is not HTTP${code}`);
  return new LoadError('unreachable', `no connection to the provider${code}`);
};

/** The error's code as a note for people, such as ` (ECONNREFUSED)`; its message may hold more than should be seen. */
export const codeOf = (error: unknown): string => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  return /^[A-Z0-9_]{1,50}$/.test(code) ? ` (${code})` : '';
};
