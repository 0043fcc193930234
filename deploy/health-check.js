import { Agent, get } from 'node:http';

// The health check of the image: exit status 0 if GET /healthz is answered with 200. It asks the
// management port, because clients may hold all connections of the public one; that one only with
// MANAGEMENT_PORT=off. It has an agent of its own, because Node's default agent may use a proxy
// (NODE_USE_ENV_PROXY), and a Host that the management port always allows.

const { HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT } = process.env; // oxlint-disable-line node/no-process-env -- a program of its own
const [host, port] =
  MANAGEMENT_PORT === 'off'
    ? [HOST || '127.0.0.1', PORT || '3000']
    : [MANAGEMENT_HOST || '127.0.0.1', MANAGEMENT_PORT || '3001'];
const headers = { host: 'localhost' };

get({ host, port, path: '/healthz', headers, agent: new Agent() }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
}).on('error', () => process.exit(1));
