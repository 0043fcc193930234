import type { ServerResponse } from 'node:http';
import type { FlatHeaders, RequestHead } from '../http-front/index.ts';

// The types of requests and headers, and functions that set headers.

export type { FlatHeaders, RequestHead };

export const setHeaders = (res: ServerResponse, headers: FlatHeaders): void => {
  for (let index = 0; index + 1 < headers.length; index += 2)
    res.setHeader(headers[index] ?? '', headers[index + 1] ?? '');
};

/** Answers with `body`, which no cache may store. */
export const sendUncached = (res: ServerResponse, type: string, body: string | Buffer): void => {
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.setHeader('Cache-Control', 'no-store');
  res.end(body);
};

/** The same with `value` as JSON. */
export const sendJson = (res: ServerResponse, value: unknown): void =>
  sendUncached(res, JSON_TYPE, JSON.stringify(value));

export const JSON_TYPE = 'application/json; charset=utf-8';
