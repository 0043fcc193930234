import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

// The upstream of the caching proxies and the Express peers: it sends the service's list with the service's headers. On
// the second port, clients that accept gzip get it compressed in advance at level 9.

const [responsesFile, plainPort, gzipPort] = process.argv.slice(2);
const { identity } = JSON.parse(readFileSync(responsesFile, 'utf8'));
const body = Buffer.from(identity.body, 'base64');
const gzipped = gzipSync(body, { level: 9 });
const skipped = /^(content-length|content-encoding|etag|vary|cache-status|x-request-id)$/i;
const common = identity.headers.filter(([name]) => !skipped.test(name)).flat();

const serve = (port, isCompressed) =>
  createServer((req, res) => {
    const useGzip = isCompressed && /gzip/.test(req.headers['accept-encoding'] ?? '');
    const content = useGzip ? gzipped : body;
    const headers = [
      ...common,
      'ETag',
      useGzip ? '"gzip"' : '"identity"',
      'Content-Length',
      String(content.length),
    ];
    if (isCompressed) headers.push('Vary', 'Accept-Encoding');
    if (useGzip) headers.push('Content-Encoding', 'gzip');
    res.writeHead(200, headers).end(content);
  }).listen(Number(port), '127.0.0.1');

serve(plainPort, false);
serve(gzipPort, true);
