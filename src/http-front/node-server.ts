import { createServer, type RequestListener, type Server } from 'node:http';
import { connectionOf } from './connection.ts';
import { MAX_HEADER_BYTES, MAX_HEADERS } from './limits.ts';
import { NODE_OPTIONS, refusalOf, toOriginForm } from './refusals.ts';

// The node:http server. It never listens: it gets streams through its documented `connection` event,
// and keeps no time-outs then.

/** @param keepAliveTimeoutMs is only what its responses advertise */
export const createNodeServer = (keepAliveTimeoutMs: number, app: RequestListener): Server => {
  const server = createServer({
    ...NODE_OPTIONS,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: keepAliveTimeoutMs,
  });
  // One more, so that refusals.ts sees that there were too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
  const respond: RequestListener = (req, res) => {
    const connection = connectionOf(req.socket);
    const refusal = refusalOf(req);
    if (refusal) return connection?.refuse(refusal, req);
    connection?.beginResponse(req, res);
    req.url = toOriginForm(req.url ?? '') ?? req.url;
    app(req, res);
  };
  return (
    server
      .on('request', respond)
      // Node's own responses to these would be a 100 that invites a body, and a bare 417.
      .on('checkContinue', respond)
      .on('checkExpectation', respond)
      .on('connect', (req) => connectionOf(req.socket)?.refuse('bad_request', req))
      .on('clientError', (error: NodeJS.ErrnoException, stream) => {
        const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW';
        connectionOf(stream)?.refuse(isTooLarge ? 'headers_too_large' : 'bad_request');
      })
  );
};
