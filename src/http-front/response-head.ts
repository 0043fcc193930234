import { STATUS_CODES } from 'node:http';

// Heads of responses as text, for the socket itself. Nothing is checked or added.

/** Names and values in turn, as node:http's `writeHead` takes them. */
export type FlatHeaders = readonly string[];

export const toStatusLine = (status: number): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;

export const toLines = (headers: FlatHeaders): string =>
  headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
