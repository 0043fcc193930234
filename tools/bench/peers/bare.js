import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import pino from 'pino';

// The lower bound of the runtime: only node:http, sending the bytes and headers of the service's responses. With `pino` as the
// third argument it also writes a line for each request, with the members that the service's lines have.

const [responsesFile, port, log] = process.argv.slice(2);
const logger = pino(
  { base: null, enabled: log === 'pino' },
  pino.destination({ fd: 1, sync: false }),
);
const { identity, br } = JSON.parse(readFileSync(responsesFile, 'utf8'));
const prepare = ({ headers, notModifiedHeaders, etag, body }) => ({
  ok: headers.flat(),
  notModified: notModifiedHeaders.flat(),
  etag,
  body: Buffer.from(body, 'base64'),
});
const responses = { identity: prepare(identity), br: prepare(br) };

const logWhenFinished = (req, res) => {
  const startedAtMs = performance.now();
  const { method, url, headers } = req;
  res.once('close', () =>
    logger.info(
      {
        requestId: headers['x-request-id'],
        method,
        path: url,
        status: res.statusCode,
        durationMs: performance.now() - startedAtMs,
        bytes: Number(res.getHeader('content-length') ?? 0),
        ip: headers['x-forwarded-for'],
        traceId: headers.traceparent,
      },
      'request',
    ),
  );
};

createServer((req, res) => {
  if (log === 'pino') logWhenFinished(req, res);
  const response = req.headers['accept-encoding']?.includes('br')
    ? responses.br
    : responses.identity;
  if (req.headers['if-none-match'] === response.etag)
    res.writeHead(304, response.notModified).end();
  else res.writeHead(200, response.ok).end(response.body);
}).listen(Number(port), '127.0.0.1');
