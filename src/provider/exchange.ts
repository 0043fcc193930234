import type { Dispatcher } from 'undici';
import type { Validators } from '../banks/cached-list.ts';
import { readBody } from './body.ts';
import type { Connections } from './connections.ts';

// One request to the provider: asks, and returns the answer's bytes unjudged. The token goes to the configured address and
// nowhere else: undici's `request` follows no redirect, and no error from here holds a header.

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
  readonly userAgent: string;
}

export interface BanksRequest {
  readonly accessToken: string;
  /** Makes the request conditional (RFC 9110 section 13): the provider may answer 304. See {@link toCondition}. */
  readonly known: Validators | undefined;
  /** Ends the whole exchange, also one whose body drips in; its owner sets the deadline. */
  readonly signal: AbortSignal;
}

/**
 * `GET {base_url}/api/v1/banks`.
 * @throws {LoadError} `unreachable`, `proxy_unreachable`, `proxy_refused`, `too_large`, `malformed`; the signal's reason
 */
export const requestBanks = (
  { connections, baseUrl, maxBodyBytes, userAgent }: BanksRequestOptions,
  { accessToken, known, signal }: BanksRequest,
): Promise<ProviderAnswer> => {
  const { pathname, search } = banksUrl(baseUrl);
  const headers = {
    accept: 'application/json',
    'accept-encoding': 'br, gzip',
    authorization: `Bearer ${accessToken}`,
    'user-agent': userAgent,
    ...(known?.etag !== undefined && { 'if-none-match': known.etag }),
    ...(known?.lastModified !== undefined && { 'if-modified-since': known.lastModified }),
  };
  return connections.request({ method: 'GET', path: `${pathname}${search}`, headers, signal }, (response) =>
    readAnswer(response, maxBodyBytes, signal),
  );
};

const readAnswer = async (
  response: Dispatcher.ResponseData,
  maxBodyBytes: number,
  signal: AbortSignal,
): Promise<ProviderAnswer> => {
  const answer = {
    status: response.statusCode,
    contentType: headerOf(response, 'content-type'),
    retryAfter: headerOf(response, 'retry-after'),
    link: headerOf(response, 'link'),
    validators: toValidators(headerOf(response, 'etag'), headerOf(response, 'last-modified')),
  };
  if (answer.status === 200) {
    const encoding = headerOf(response, 'content-encoding');
    return { ...answer, body: await readBody(response.body, encoding, maxBodyBytes, signal) };
  }
  await discardBody(response, signal);
  return { ...answer, body: Buffer.alloc(0) };
};

/** The first value of a header. */
export const headerOf = ({ headers }: Dispatcher.ResponseData, name: string): string | undefined =>
  [headers[name]].flat()[0];

/**
 * Not destroy(): an unread undici body without an error listener would end the process.
 * @param signal the request's own, which ends its body too
 */
export const discardBody = async (response: Dispatcher.ResponseData, signal: AbortSignal): Promise<void> => {
  await response.body.dump({ limit: 65_536 });
  signal.throwIfAborted();
};

const toValidators = (etag: string | undefined, lastModified: string | undefined): Validators | undefined =>
  etag === undefined && lastModified === undefined ? undefined : { etag, lastModified };

/**
 * The validators that may be sent back: up to a kilobyte of printable ASCII. Others could make the request itself fail, in
 * a proxy or at the provider; without them the whole list is asked for.
 */
export const toCondition = (known: Validators | undefined): Validators | undefined => {
  const usable = (value: string | undefined): string | undefined =>
    value !== undefined && /^[\x20-\x7e]{1,1024}$/.test(value) ? value : undefined;
  return toValidators(usable(known?.etag), usable(known?.lastModified));
};

/** Only the path changes: resolved as a reference, a base path that begins with `//` would name another host. */
export const banksUrl = (baseUrl: URL): URL => {
  const url = new URL(baseUrl);
  url.pathname = `${baseUrl.pathname.replace(/\/+$/, '')}/api/v1/banks`;
  return url;
};
