import express from 'express';
import helmet from 'helmet';
import { pino } from 'pino';
import { pinoHttp } from 'pino-http';
import { readRecorded } from '../responses.ts';

// The best that an ordinary Express application can do for this list: helmet and pino-http for each
// request, and the recorded responses, so that it compresses nothing.

const [file = '', port] = process.argv.slice(2);
const responses = readRecorded(file);
const app = express().disable('x-powered-by').set('trust proxy', 1);
app.use(pinoHttp({ logger: pino(pino.destination({ fd: 1, sync: false })) }), helmet());
app.get('/banks', (req, res) => {
  const response = responses[req.acceptsEncodings('br') === 'br' ? 'br' : 'identity'];
  if (req.headers['if-none-match'] === response.etag)
    res.writeHead(304, response.notModifiedHeaders).end();
  else res.writeHead(200, response.headers).end(response.body);
});
app.listen(Number(port), '127.0.0.1');
