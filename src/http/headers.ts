import { STATUS_CODES, type ServerResponse } from 'node:http';

// Headers as this service keeps them, and the two ways to send them.

/** Names and values in turn, as `writeHead` takes them. */
export type FlatHeaders = readonly string[];

export const setHeaders = (res: ServerResponse, headers: FlatHeaders): void => {
  for (let index = 0; index + 1 < headers.length; index += 2)
    res.setHeader(headers[index] ?? '', headers[index + 1] ?? '');
};

/** The head of an answer as node:http would write it, for the socket itself. Nothing is checked or added. */
export const toHead = (status: number, headers: FlatHeaders): string => {
  const lines = headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n`;
};
