import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { send } from './answers.ts';

// How the emulated provider sends its list: compressed if configured, with validators if switched on.

/** How lists are sent. */
export interface ListResponseOptions {
  /** The encoding for clients that accept it; undefined: never compressed. */
  readonly compress: 'gzip' | 'br' | undefined;
  /** Whether responses carry ETag and Last-Modified, and conditional requests get a 304. */
  readonly validators: boolean;
  readonly now: () => number;
}

/** Sends the lists of one emulator. */
export interface ListResponder {
  /** Sends `value` as JSON with status 200, or a 304. `headers` are added to the defaults or replace them. */
  send(req: IncomingMessage, res: ServerResponse, value: unknown, headers?: OutgoingHttpHeaders): void;
  setValidators(on: boolean): void;
}

/** Creates the responder. It remembers the latest version of the list, for Last-Modified. */
export function createListResponder({ compress, now, ...options }: ListResponseOptions): ListResponder {
  let { validators } = options;

  // HTTP dates have a resolution of one second. Each new version is dated one second after the previous one,
  // starting an hour ago: two changes within a second still get different dates, and none is in the future.
  let currentTag = '';
  let modifiedMs = Math.floor(now() / 1000) * 1000 - 3_600_000;

  function validatorsOf(body: Buffer): { etag: string; 'last-modified': string } {
    // Weak, because one list may be sent in different encodings.
    const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    if (etag !== currentTag) {
      currentTag = etag;
      modifiedMs += 1000;
    }
    return { etag, 'last-modified': new Date(modifiedMs).toUTCString() };
  }

  return {
    send(req, res, value, given = {}) {
      const body = Buffer.from(JSON.stringify(value));
      const headers: OutgoingHttpHeaders = compress === undefined ? {} : { vary: 'Accept-Encoding' };
      if (validators) {
        const current = validatorsOf(body);
        Object.assign(headers, current);
        if (isNotModified(req.headers, current.etag, modifiedMs)) {
          res.writeHead(304, headers).end();
          return;
        }
      }
      Object.assign(headers, given);
      if (compress === undefined || !accepts(req.headers['accept-encoding'], compress)) {
        return send(res, 200, 'application/json', body, headers);
      }
      const compressed = compress === 'gzip' ? gzipSync(body) : brotliCompressSync(body);
      return send(res, 200, 'application/json', compressed, { ...headers, 'content-encoding': compress });
    },
    setValidators(on) {
      validators = on;
    },
  };
}

function isNotModified(headers: IncomingHttpHeaders, etag: string, modifiedMs: number): boolean {
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined) {
    // Weak comparison. If-Modified-Since is ignored when If-None-Match is present (RFC 9110, 13.1.2 and 13.1.3).
    return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').map(opaqueTag).includes(opaqueTag(etag));
  }
  return Date.parse(headers['if-modified-since'] ?? '') >= modifiedMs;
}

function opaqueTag(etag: string): string {
  return etag.trim().replace(/^W\//, '');
}

function accepts(acceptEncoding: string | string[] | undefined, encoding: string): boolean {
  return String(acceptEncoding ?? '')
    .toLowerCase()
    .split(',')
    .some((item) => {
      const [name, ...parameters] = item.split(';').map((part) => part.trim());
      return (name === encoding || name === '*') && !parameters.some((part) => /^q=0(\.0*)?$/.test(part));
    });
}
