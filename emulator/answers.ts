import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { constants, createBrotliCompress, gzipSync } from 'node:zlib';

// The bytes the emulator puts on the wire. A failure is deliberately indiscreet: it carries a text that only
// the emulator writes and echoes the credentials it was sent, so that a test of the product can prove that
// neither ever reaches a browser or a log.

/** Appears in every failure the emulator words; nothing of the product may ever show it. */
export const INTERNAL_DETAIL = 'emulator-internal-detail';

/** Sends a complete answer of known length. */
export function send(
  res: ServerResponse,
  status: number,
  contentType: string,
  body: string | Buffer,
  headers: OutgoingHttpHeaders = {},
): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  res.writeHead(status, { 'content-type': contentType, 'content-length': bytes.length, ...headers });
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

/** Sends a failure as an indiscreet provider words it: with internals and the caller's own credentials. */
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

/** The maintenance page of some proxy in front of the provider, labelled as asked. */
export function sendMaintenancePage(req: IncomingMessage, res: ServerResponse, contentType: string): void {
  const page =
    '<!doctype html><title>maintenance</title><h1>Down for maintenance</h1>' +
    `<!-- ${INTERNAL_DETAIL} authorization: ${req.headers.authorization ?? 'none'} -->`;
  send(res, 200, contentType, page);
}

const MEBIBYTE = 1024 * 1024;
const BOMB_MEBIBYTES = 1024;

let gzipped: Buffer | undefined;
let brotlied: Promise<Buffer> | undefined;

/** One gibibyte of JSON (a list holding only spaces) in about a megabyte of gzip, made once, when first asked. */
export function gzipBomb(): Buffer {
  if (gzipped === undefined) {
    // Members of a gzip file may follow one another, so one compressed mebibyte, repeated, is enough.
    const spaces = gzipSync(Buffer.alloc(MEBIBYTE, ' '));
    const filling = Array.from({ length: BOMB_MEBIBYTES }, () => spaces);
    gzipped = Buffer.concat([gzipSync('['), ...filling, gzipSync(']')]);
  }
  return gzipped;
}

/** The same gibibyte in about 200 kB of Brotli, made once, when first asked. */
export function brotliBomb(): Promise<Buffer> {
  brotlied ??= compressBomb();
  return brotlied;
}

async function compressBomb(): Promise<Buffer> {
  // Brotli streams cannot follow one another; its quickest setting does the whole gibibyte in about 0.2 s.
  const compressor = createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
  const chunks: Buffer[] = [];
  compressor.on('data', (chunk: Buffer) => chunks.push(chunk));
  const finished = new Promise<void>((resolve, reject) => {
    compressor.once('end', resolve).once('error', reject);
  });
  const spaces = Buffer.alloc(4 * MEBIBYTE, ' ');
  compressor.write('[');
  for (let left = BOMB_MEBIBYTES; left > 0; left -= 4) {
    // Waiting for each write is what keeps the memory at one chunk.
    // oxlint-disable-next-line no-await-in-loop
    await new Promise<void>((resolve, reject) => {
      compressor.write(spaces, (error) => (error ? reject(error) : resolve()));
    });
  }
  compressor.end(']');
  await finished;
  return Buffer.concat(chunks);
}
