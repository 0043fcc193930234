import { Agent, get } from 'node:http';

// The health check of the image: exit status 0 if GET /healthz is answered with 200. It connects to
// the configured address, not to a name, and with an agent of its own, because Node's default agent
// may use a proxy (NODE_USE_ENV_PROXY). With PORT=0 only the management port is known.

const { HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT } = process.env; // oxlint-disable-line node/no-process-env -- a program of its own
const [host, port] =
  PORT === '0'
    ? [MANAGEMENT_HOST || '127.0.0.1', MANAGEMENT_PORT || '3001']
    : [HOST || '127.0.0.1', PORT || '3000'];

get({ host, port, path: '/healthz', agent: new Agent() }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
}).on('error', () => process.exit(1));
