import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { constants, createBrotliCompress, gzipSync } from 'node:zlib';

// The responses that the emulator sends. Error responses leak on purpose: they contain a marker and
// echo the credentials of the request, so that tests can prove that the service passes neither to a
// browser or a log.

/**
 * The marker in every error response; it must never appear in anything that the service writes or
 * sends.
 */
export const INTERNAL_DETAIL = 'emulator-internal-detail';

/** Sends a complete response with a Content-Length. */
export function send(
  res: ServerResponse,
  status: number,
  contentType: string,
  body: string | Buffer,
  headers: OutgoingHttpHeaders = {},
): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  res.writeHead(status, {
    'content-type': contentType,
    'content-length': bytes.length,
    ...headers,
  });
  res.end(bytes);
}

/** Sends a value as JSON. */
export function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers?: OutgoingHttpHeaders,
): void {
  send(res, status, 'application/json', JSON.stringify(value), headers);
}

/** Sends an error response that leaks internals and the caller's credentials. */
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

/** Sends the HTML maintenance page of a proxy, with status 200 and the given Content-Type. */
export function sendMaintenancePage(
  req: IncomingMessage,
  res: ServerResponse,
  contentType: string,
): void {
  const page =
    '<!doctype html><title>maintenance</title><h1>Down for maintenance</h1>' +
    `<!-- ${INTERNAL_DETAIL} authorization: ${req.headers.authorization ?? 'none'} -->`;
  send(res, 200, contentType, page);
}

const MEBIBYTE = 1024 * 1024;
const BOMB_MEBIBYTES = 1024;

let gzipped: Buffer | undefined;
let brotlied: Promise<Buffer> | undefined;

/** 1 GiB of JSON (a list that contains only spaces) in about 1 MB of gzip. Built on first use. */
export function gzipBomb(): Buffer {
  if (gzipped === undefined) {
    // A gzip file may consist of several members, so one compressed mebibyte can be repeated.
    const spaces = gzipSync(Buffer.alloc(MEBIBYTE, ' '));
    const members = Array.from({ length: BOMB_MEBIBYTES }, () => spaces);
    gzipped = Buffer.concat([gzipSync('['), ...members, gzipSync(']')]);
  }
  return gzipped;
}

/** The same JSON in about 200 kB of Brotli. Built on first use. */
export function brotliBomb(): Promise<Buffer> {
  brotlied ??= compressBomb();
  return brotlied;
}

async function compressBomb(): Promise<Buffer> {
  // Brotli streams cannot be concatenated; at the fastest setting, compressing 1 GiB takes about
  // 0.2 s.
  const compressor = createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
  const chunks: Buffer[] = [];
  compressor.on('data', (chunk: Buffer) => chunks.push(chunk));
  const finished = new Promise<void>((resolve, reject) => {
    compressor.once('end', resolve).once('error', reject);
  });
  const spaces = Buffer.alloc(4 * MEBIBYTE, ' ');
  compressor.write('[');
  for (let left = BOMB_MEBIBYTES; left > 0; left -= 4) {
    // Waiting for each write keeps memory use at one chunk.
    // oxlint-disable-next-line no-await-in-loop
    await new Promise<void>((resolve, reject) => {
      compressor.write(spaces, (error) => (error ? reject(error) : resolve()));
    });
  }
  compressor.end(']');
  await finished;
  return Buffer.concat(chunks);
}
