import { STATUS_CODES, type ServerResponse } from 'node:http';

// Headers as this service keeps them, and the two ways to send them.

/** Names and values in turn, as `writeHead` takes them. */
export type FlatHeaders = readonly string[];

export const setHeaders = (res: ServerResponse, fields: FlatHeaders): void => {
  for (let index = 0; index + 1 < fields.length; index += 2)
    res.setHeader(fields[index] ?? '', fields[index + 1] ?? '');
};

/** The head of a response as node:http would write it, for writing to the socket. Nothing is checked or added. */
export const toHead = (status: number, fields: FlatHeaders): string => {
  const lines = fields.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n`;
};
