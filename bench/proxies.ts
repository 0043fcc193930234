import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MANY, sendWithHttp, type Client } from './client.ts';
import { NGINX_PROGRAM } from './peers.ts';
import { freePort, LOAD_CPU, start } from './processes.ts';
import { CHROME } from './scenarios.ts';
import { waitUntilReady } from './service.ts';

// Reverse proxies in front of the service, which get a browser's requests on one connection.

interface Proxy {
  readonly name: string;
  readonly program: string;
  /** Its configuration: it listens on `port`, and the service on `servicePort`. */
  readonly config: (directory: string, port: number, servicePort: number) => string;
  readonly args: (file: string, directory: string) => readonly string[];
  /** Instead of the list's. */
  readonly pathOf?: (index: number) => string;
}

const proxy = ({ name, program, config, args, pathOf = () => '/banks' }: Proxy): Client => ({
  name,
  requests: MANY,
  isInstalled: () => existsSync(program),
  open: async ({ port: servicePort, directory: parent }) => {
    const port = await freePort();
    const directory = join(parent, `proxy-${port}`);
    mkdirSync(directory);
    const file = join(directory, 'proxy.conf');
    writeFileSync(file, config(directory, port, servicePort));
    const running = await start([[program, ...args(file, directory)]], {}, LOAD_CPU);
    const origin = `http://127.0.0.1:${port}`;
    await waitUntilReady(`${origin}/banks`);
    return {
      send: (requests) =>
        sendWithHttp({
          urlOf: (index) => origin + pathOf(index),
          requests,
          headers: CHROME,
          agent: { keepAlive: true },
        }),
      close: () => running.stop(),
    };
  },
});

/** `location`: what is in it besides proxy_pass. */
const nginx = (name: string, location: string, pathOf?: Proxy['pathOf']): Client =>
  proxy({
    name,
    program: NGINX_PROGRAM,
    args: (file, directory) => ['-p', directory, '-c', file],
    ...(pathOf ? { pathOf } : {}),
    config: (directory, port, servicePort) => `daemon off; worker_processes 1; pid ${directory}/pid;
error_log stderr error; events { worker_connections 256; }
http {
  access_log off; client_body_temp_path ${directory}/b; proxy_temp_path ${directory}/p; fastcgi_temp_path ${directory}/f;
  uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
  upstream service { server 127.0.0.1:${servicePort}; keepalive 16; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://service; ${location} }
  }
}
`,
  });

const KEEP_ALIVE =
  'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host; ' +
  'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme; ' +
  'proxy_set_header X-Request-Id $request_id;';

const haproxy = proxy({
  name: 'HAProxy, option forwardfor, unique-id-header',
  program: '/usr/sbin/haproxy',
  args: (file) => ['-db', '-f', file],
  config: (_directory, port, servicePort) => `defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  option forwardfor
frontend public
  bind 127.0.0.1:${port}
  unique-id-format %{+X}o%ci:%cp_%fi:%fp_%Ts_%rt:%pid
  unique-id-header X-Request-Id
  default_backend service
backend service
  server service 127.0.0.1:${servicePort}
`,
});

export const PROXIES: readonly Client[] = [
  nginx('nginx, its defaults (HTTP/1.0, a connection per request)', ''),
  nginx('nginx, keep-alive, X-Forwarded-For, X-Request-Id', KEEP_ALIVE),
  nginx('nginx, keep-alive, one request in 100 for another path', KEEP_ALIVE, (index) =>
    index % 100 === 50 ? '/healthz' : '/banks',
  ),
  haproxy,
];
