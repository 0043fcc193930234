import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { send } from './answers.ts';

// How the emulated provider sends its list: compressed if configured.

/** Sends `value` as JSON with status 200. `headers` are added to the defaults or replace them. */
export type SendList = (
  req: IncomingMessage,
  res: ServerResponse,
  value: unknown,
  headers?: OutgoingHttpHeaders,
) => void;

/** @param compress the encoding for clients that accept it; undefined: never compressed */
export const createSendList =
  (compress: 'gzip' | 'br' | undefined): SendList =>
  (req, res, value, given = {}) => {
    const body = Buffer.from(JSON.stringify(value));
    const headers = { ...(compress && { vary: 'Accept-Encoding' }), ...given };
    if (compress === undefined || !accepts(req.headers['accept-encoding'], compress))
      return send(res, 200, 'application/json', body, headers);
    const compressed = compress === 'gzip' ? gzipSync(body) : brotliCompressSync(body);
    return send(res, 200, 'application/json', compressed, {
      ...headers,
      'content-encoding': compress,
    });
  };

function accepts(acceptEncoding: string | string[] | undefined, encoding: string): boolean {
  return String(acceptEncoding ?? '')
    .toLowerCase()
    .split(',')
    .some((item) => {
      const [name, ...parameters] = item.split(';').map((part) => part.trim());
      return (
        (name === encoding || name === '*') && !parameters.some((part) => /^q=0(\.0*)?$/.test(part))
      );
    });
}
