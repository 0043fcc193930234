import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';

// The lower bound of the runtime: only node:http, sending the bytes and headers of the service's responses. No log.

const [responsesFile, port] = process.argv.slice(2);
const { identity, br } = JSON.parse(readFileSync(responsesFile, 'utf8'));
const prepare = ({ headers, notModifiedHeaders, etag, body }) => ({
  ok: headers.flat(),
  notModified: notModifiedHeaders.flat(),
  etag,
  body: Buffer.from(body, 'base64'),
});
const responses = { identity: prepare(identity), br: prepare(br) };

createServer((req, res) => {
  const response = req.headers['accept-encoding']?.includes('br') ? responses.br : responses.identity;
  if (req.headers['if-none-match'] === response.etag) res.writeHead(304, response.notModified).end();
  else res.writeHead(200, response.ok).end(response.body);
}).listen(Number(port), '127.0.0.1');
