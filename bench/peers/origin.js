import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

// What stands behind the caching proxies and the Express peers: the same list with the same fields as the service's
// answer, whole or, for who asks so on the second port, compressed beforehand as well as gzip can.

const [answersFile, plainPort, gzipPort] = process.argv.slice(2);
const { identity } = JSON.parse(readFileSync(answersFile, 'utf8'));
const body = Buffer.from(identity.body, 'base64');
const gzipped = gzipSync(body, { level: 9 });
const skipped = /^(content-length|content-encoding|etag|vary|cache-status|x-request-id)$/i;
const common = identity.fields.filter(([name]) => !skipped.test(name)).flat();

const serve = (port, compresses) =>
  createServer((req, res) => {
    const gzips = compresses && /gzip/.test(req.headers['accept-encoding'] ?? '');
    const content = gzips ? gzipped : body;
    const fields = [
      ...common,
      'ETag',
      gzips ? '"gzip"' : '"identity"',
      'Content-Length',
      String(content.length),
    ];
    if (compresses) fields.push('Vary', 'Accept-Encoding');
    if (gzips) fields.push('Content-Encoding', 'gzip');
    res.writeHead(200, fields).end(content);
  }).listen(Number(port), '127.0.0.1');

serve(plainPort, false);
serve(gzipPort, true);
