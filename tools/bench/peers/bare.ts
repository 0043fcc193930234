import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pino } from 'pino';
import { readRecorded } from '../responses.ts';

// Only node:http, which sends the recorded responses. With `pino` as the third argument it writes a
// line for each request, with the members of the service's lines. Without, it is the upstream of the
// caching proxies.

const [file = '', port, log] = process.argv.slice(2);
const logger = pino({ base: null }, pino.destination({ fd: 1, sync: false }));
const responses = readRecorded(file);

const logWhenSent = (req: IncomingMessage, res: ServerResponse): void => {
  const startedAtMs = performance.now();
  const { method, url: path, headers } = req;
  res.once('close', () =>
    logger.info(
      {
        requestId: headers['x-request-id'],
        method,
        path,
        status: res.statusCode,
        durationMs: performance.now() - startedAtMs,
        bytes: Number(res.getHeader('content-length') ?? 0),
        ip: headers['x-forwarded-for'],
        traceId: headers['traceparent'],
      },
      'request',
    ),
  );
};

createServer((req, res) => {
  if (log === 'pino') logWhenSent(req, res);
  const { 'accept-encoding': accepted, 'if-none-match': condition } = req.headers;
  const response = responses[/\bbr\b/.test(String(accepted)) ? 'br' : 'identity'];
  if (condition === response.etag) res.writeHead(304, response.notModifiedHeaders).end();
  else res.writeHead(200, response.headers).end(response.body);
}).listen(Number(port), '127.0.0.1');
