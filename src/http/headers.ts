import { IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

// Headers as this service keeps them, the two ways to send them, and those that every answer has.

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

/** A status line and header lines as node:http would write them, for the socket itself. Nothing is checked or added. */
export const toStatusLine = (status: number): string => `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
export const toLines = (headers: FlatHeaders): string =>
  headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');

/**
 * Helmet's headers for answers that are data: nothing in them may be run, framed or embedded beyond what CORS allows. Helmet
 * runs once, at start: none of them depends on the request.
 */
export const createSecurityHeaders = (resourcePolicy: 'same-origin' | 'cross-origin'): FlatHeaders => {
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    crossOriginResourcePolicy: { policy: resourcePolicy },
    referrerPolicy: { policy: 'no-referrer' },
    // The service speaks plain HTTP (RFC 6797 section 7.2). Whoever ends TLS decides for the host name and its subdomains.
    strictTransportSecurity: false,
    xFrameOptions: { action: 'deny' },
  })(req, res, (error) => {
    if (error) throw error;
  });
  return Object.entries(res.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
};
