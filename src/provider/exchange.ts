import { pipeline } from 'node:stream/promises';
import type { Duplex, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Validators } from '../banks/cached-list.ts';
import { LoadError } from '../banks/load-error.ts';
import { codeOf } from '../error-code.ts';

// One exchange with the provider: asks, and hands over the answer's bytes unjudged. The token goes to the given
// address and nowhere else: undici's `request` follows no redirect, and no error from here carries a header.

export interface ProviderAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly retryAfter: string | undefined;
  readonly link: string | undefined;
  /** Undefined where the provider names no version of its list. */
  readonly validators: Validators | undefined;
  /** Decompressed; empty unless the status is 200. */
  readonly body: Buffer;
}

export interface BanksRequestOptions {
  readonly connections: Connections;
  readonly baseUrl: URL;
  /** Largest body, counted after decompression. */
  readonly maxBodyBytes: number;
}

export interface BanksRequest {
  readonly accessToken: string;
  /** Makes the request conditional (RFC 9110 section 13): the provider may answer 304. See {@link toCondition}. */
  readonly known: Validators | undefined;
  /** Ends the whole exchange, a body that drips included: the deadline is its owner's. */
  readonly signal: AbortSignal;
}

export interface Connections {
  readonly open: () => Promise<Dispatcher>;
  readonly destroy: () => Promise<void>;
}

/**
 * One connection at a time, as there is one load at a time, and none for longer than five minutes, so that a changed
 * address of the provider is followed. The time-outs of undici's own are off: the list's deadline is the whole one's.
 * undici is loaded when it is first needed: a start with a kept list does without it, and is 60 ms faster.
 */
export const createConnections = (): Connections => {
  let agent: Promise<Dispatcher> | undefined;
  const createAgent = async (): Promise<Dispatcher> => {
    const { Agent } = await import('undici');
    return new Agent({ connections: 1, clientTtl: 300_000, headersTimeout: 0, bodyTimeout: 0 });
  };
  return {
    open: () => (agent ??= createAgent()),
    destroy: async () => (await agent)?.destroy(),
  };
};

/**
 * `GET {base_url}/api/v1/banks`.
 * @throws {LoadError} `unreachable`, `too_large`, `malformed`, or the signal's reason
 */
export const requestBanks = async (
  { connections, baseUrl, maxBodyBytes }: BanksRequestOptions,
  { accessToken, known, signal }: BanksRequest,
): Promise<ProviderAnswer> => {
  const { origin, pathname, search } = banksUrl(baseUrl);
  const response = await requestOverLiveConnection(await connections.open(), {
    method: 'GET',
    origin,
    path: `${pathname}${search}`,
    signal,
    headers: {
      accept: 'application/json',
      'accept-encoding': 'br, gzip',
      authorization: `Bearer ${accessToken}`,
      ...(known?.etag !== undefined && { 'if-none-match': known.etag }),
      ...(known?.lastModified !== undefined && { 'if-modified-since': known.lastModified }),
    },
  }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : toConnectionError(error);
  });
  const header = (name: string): string | undefined => [response.headers[name]].flat()[0];
  const answer = {
    status: response.statusCode,
    contentType: header('content-type'),
    retryAfter: header('retry-after'),
    link: header('link'),
    validators: toValidators(header('etag'), header('last-modified')),
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

/**
 * Sends a request, and sends it once more if it died on a connection that had been idle since an earlier one: the
 * provider may close such a connection in the very moment in which it is used again (RFC 9112 section 9.3.1).
 */
const requestOverLiveConnection = async (
  dispatcher: Dispatcher,
  options: Dispatcher.RequestOptions,
): Promise<Dispatcher.ResponseData> => {
  let connected = false;
  const onConnect = (): void => void (connected = true);
  dispatcher.on('connect', onConnect);
  try {
    return await dispatcher.request(options);
  } catch (error) {
    if (connected || !/UND_ERR_SOCKET|ECONNRESET|EPIPE/.test(codeOf(error))) throw error;
    return await dispatcher.request(options);
  } finally {
    dispatcher.off('connect', onConnect);
  }
};

const toValidators = (etag: string | undefined, lastModified: string | undefined): Validators | undefined =>
  etag === undefined && lastModified === undefined ? undefined : { etag, lastModified };

/**
 * The validators that may be sent back. A longer or odder one than a kilobyte of printable ASCII would make the request
 * itself the thing that fails, in a proxy or at the provider: then the whole list is asked for.
 */
export const toCondition = (known: Validators | undefined): Validators | undefined => {
  const usable = (value: string | undefined): string | undefined =>
    value !== undefined && /^[\x20-\x7e]{1,1024}$/.test(value) ? value : undefined;
  return toValidators(usable(known?.etag), usable(known?.lastModified));
};

/**
 * Collects a body as it is decompressed, in one buffer: neither a bomb nor a body in pieces of one byte, each of which
 * would be an object, costs more memory than twice the limit.
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
      // What is buffered is iterated without a pause, and in pieces of one byte that takes half a second.
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

/** Only the path changes: resolved as a reference, a base path that begins with `//` would name another host. */
export const banksUrl = (baseUrl: URL): URL => {
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
  const code = codeNote(error);
  // What answers is there, but does not speak HTTP. undici's parser errors have a code or not, depending on the byte.
  const name = error instanceof Error ? error.name : '';
  if (name === 'HTTPParserError' || /HPE_|HEADERS_OVERFLOW/.test(code))
    return new LoadError('malformed', `the answer is not HTTP${code}`);
  // undici ends a connection on which it reads 100 (Continue) or an unasked upgrade. RFC 9110 section 15.2 wants a client
  // to go on to the final answer; undici cannot, and other interim answers do no harm.
  if (error instanceof Error && error.message === 'bad response' && codeOf(error) === 'UND_ERR_SOCKET')
    return new LoadError('malformed', 'the provider sent an interim answer (100) that nobody asked for');
  return new LoadError('unreachable', `no connection to the provider${code}`);
};

/** The error's code as a note for people, such as ` (ECONNREFUSED)`; its message may hold more than should be seen. */
export const codeNote = (error: unknown): string => {
  const code = codeOf(error);
  return /^[A-Z0-9_]{1,50}$/.test(code) ? ` (${code})` : '';
};
