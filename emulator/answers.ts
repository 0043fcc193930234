import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

// How the emulator sends responses. Error responses leak on purpose: they contain a marker and the
// credentials of the request, so that tests can prove that the service passes neither on.

/** The marker in every error response; the service must never write or send it. */
export const INTERNAL_DETAIL = 'emulator-internal-detail';

export function send(
  res: ServerResponse,
  status: number,
  contentType: string,
  body: string | Buffer,
  headers: OutgoingHttpHeaders = {},
): void {
  const length = Buffer.byteLength(body);
  res.writeHead(status, { 'content-type': contentType, 'content-length': length, ...headers });
  res.end(body);
}

export function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers?: OutgoingHttpHeaders,
): void {
  send(res, status, 'application/json', JSON.stringify(value), headers);
}

/** Sends an error that leaks internals and the caller's credentials. */
export function sendFailure(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  error: string,
  headers?: OutgoingHttpHeaders,
): void {
  const authorization = req.headers.authorization ?? null;
  sendJson(res, status, { error, detail: INTERNAL_DETAIL, authorization }, headers);
}

/** Sends the HTML maintenance page of a proxy, which leaks as well, with status 200. */
export function sendMaintenancePage(req: IncomingMessage, res: ServerResponse): void {
  const page =
    '<!doctype html><title>maintenance</title><h1>Down for maintenance</h1>' +
    `<!-- ${INTERNAL_DETAIL} authorization: ${req.headers.authorization ?? 'none'} -->`;
  send(res, 200, 'text/html; charset=utf-8', page);
}

/** Sends a TCP reset instead of closing normally: the client sees ECONNRESET. */
export function reset(req: IncomingMessage): void {
  req.socket.resetAndDestroy();
}
