import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';

// The runtime's limit: node:http and nothing else, sending the bytes and fields of the service's answers. No log.

const [answersFile, port] = process.argv.slice(2);
const { identity, br } = JSON.parse(readFileSync(answersFile, 'utf8'));
const ready = ({ fields, notModifiedFields, etag, body }) => ({
  ok: fields.flat(),
  notModified: notModifiedFields.flat(),
  etag,
  body: Buffer.from(body, 'base64'),
});
const answers = { identity: ready(identity), br: ready(br) };

createServer((req, res) => {
  const answer = req.headers['accept-encoding']?.includes('br') ? answers.br : answers.identity;
  if (req.headers['if-none-match'] === answer.etag) res.writeHead(304, answer.notModified).end();
  else res.writeHead(200, answer.ok).end(answer.body);
}).listen(Number(port), '127.0.0.1');
