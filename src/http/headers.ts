import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';

// Headers as this service keeps them, and the two ways to send them.

/** What an answer and its log line depend on. */
export type RequestHead = Readonly<Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'socket'>>;

/** Names and values in turn, as `writeHead` takes them. */
export type FlatHeaders = readonly string[];

export const setHeaders = (res: ServerResponse, headers: FlatHeaders): void => {
  for (let index = 0; index + 1 < headers.length; index += 2)
    res.setHeader(headers[index] ?? '', headers[index + 1] ?? '');
};

/** Answers with `body`, which no cache may store. */
export const sendUncached = (res: ServerResponse, type: string, body: string): void => {
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.setHeader('Cache-Control', 'no-store');
  res.end(body);
};

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * A status line and header lines as node:http would write them, for the socket itself. Nothing is
 * checked or added.
 */
export const toStatusLine = (status: number): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
export const toLines = (headers: FlatHeaders): string =>
  headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
