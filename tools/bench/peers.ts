import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// The programs that the service is compared with, each tuned for this one list, with access logs
// on.

export const NGINX = 'nginx, compressed upstream';
export const VARNISH = 'Varnish, do_gzip';
export const BARE_NODE = 'bare node:http, no log';
export const BARE_NODE_WITH_LOG = 'bare node:http, pino';

export interface Stage {
  /** A directory for configuration and caches, on a RAM disk if there is one. */
  readonly directory: string;
  /** The service's recorded responses, for peers that send the same bytes. */
  readonly responsesFile: string;
  readonly originPort: number;
  readonly gzipOriginPort: number;
}

export interface Peer {
  readonly name: string;
  /** Whether compilers run beside it, which share its CPU until it is warm. */
  readonly isNode: boolean;
  /**
   * Seconds of warm-up per scenario. The Express applications get less than they could use: they
   * cost so much more than the others that it does not change their place.
   */
  readonly warmUpSeconds: number;
  /** Whether its tail is measured: those that can carry thousands of requests per second. */
  readonly hasTail: boolean;
  /** The commands to start; undefined if one is not installed. */
  readonly commands: (stage: Stage, port: number) => readonly (readonly string[])[] | undefined;
  /** Of the service itself: the checkout with its build, and the variables that differ. */
  readonly service?: { readonly checkout: string; readonly env: Readonly<Record<string, string>> };
}

const installed = (path: string): boolean => existsSync(path);

const nodePeer = (
  { name, warmUpSeconds, hasTail }: Omit<Peer, 'isNode' | 'commands'>,
  script: string,
  args: (stage: Stage, port: number) => string[],
): Peer => ({
  name,
  isNode: true,
  warmUpSeconds,
  hasTail,
  commands: (stage, port) => [
    [process.execPath, `tools/bench/peers/${script}`, ...args(stage, port)],
  ],
});

const expressPeer = (name: string, kind: string): Peer =>
  nodePeer({ name, warmUpSeconds: 1, hasTail: false }, 'express.js', ({ originPort }, port) => [
    kind,
    `${originPort}`,
    `${port}`,
  ]);

const barePeer = ({ name, hasTail }: Pick<Peer, 'name' | 'hasTail'>, log: 'none' | 'pino'): Peer =>
  nodePeer({ name, warmUpSeconds: 2, hasTail }, 'bare.js', ({ responsesFile }, port) => [
    responsesFile,
    `${port}`,
    log,
  ]);

const NGINX_PROGRAM = '/usr/sbin/nginx';
const nginxPeer = (
  { name, hasTail }: Pick<Peer, 'name' | 'hasTail'>,
  originOf: (stage: Stage) => number,
  gzip: string,
): Peer => ({
  name,
  isNode: false,
  warmUpSeconds: 1,
  hasTail,
  commands: (stage, port) => {
    if (!installed(NGINX_PROGRAM)) return undefined;
    const directory = join(stage.directory, `nginx-${port}`);
    mkdirSync(directory, { recursive: true });
    const file = join(directory, 'nginx.conf');
    writeFileSync(
      file,
      `daemon off; worker_processes 1; pid ${directory}/pid; error_log stderr error;
events { worker_connections 4096; }
http {
  access_log /dev/null combined buffer=32k flush=1s;
  keepalive_requests 100000000; tcp_nodelay on; server_tokens off;
  proxy_cache_path ${directory}/cache keys_zone=banks:1m inactive=7d; proxy_temp_path ${directory}/temp;
  client_body_temp_path ${directory}/body; fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u;
  scgi_temp_path ${directory}/s;
  map $http_accept_encoding $coding { default ""; ~gzip gzip; }
  upstream origin { server 127.0.0.1:${originOf(stage)}; keepalive 4; }
  server {
    listen 127.0.0.1:${port};
    location = /banks {
      proxy_pass http://origin/banks; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Accept-Encoding $coding; proxy_cache banks; proxy_cache_key banks$coding;
      proxy_cache_valid 200 1h; proxy_ignore_headers Vary; proxy_cache_lock on; proxy_cache_use_stale updating error timeout;
      add_header X-Request-Id $request_id; ${gzip}
    }
  }
}
`,
    );
    return [[NGINX_PROGRAM, '-p', directory, '-c', file]];
  },
});

const VARNISH_PROGRAM = '/usr/sbin/varnishd';
const varnish: Peer = {
  name: VARNISH,
  isNode: false,
  warmUpSeconds: 1,
  hasTail: true,
  commands: (stage, port) => {
    if (!installed(VARNISH_PROGRAM)) return undefined;
    const directory = join(stage.directory, `varnish-${port}`);
    mkdirSync(directory, { recursive: true });
    const file = join(directory, 'banks.vcl');
    writeFileSync(
      file,
      `vcl 4.1;
backend origin { .host = "127.0.0.1"; .port = "${stage.originPort}"; }
sub vcl_recv { unset req.http.Cookie; return (hash); }
sub vcl_backend_response { set beresp.do_gzip = true; set beresp.ttl = 1h; }
sub vcl_deliver { set resp.http.X-Request-Id = req.xid; }
`,
    );
    const work = join(directory, 'work');
    return [
      [
        VARNISH_PROGRAM,
        '-F',
        '-n',
        work,
        '-a',
        `127.0.0.1:${port}`,
        '-f',
        file,
        '-s',
        'malloc,64m',
      ],
      ['/usr/bin/varnishncsa', '-n', work, '-t', '10', '-w', '/dev/null'],
    ];
  },
};

export const PEERS: readonly Peer[] = [
  nginxPeer({ name: NGINX, hasTail: true }, (stage) => stage.gzipOriginPort, ''),
  nginxPeer(
    { name: 'nginx, gzip on the fly', hasTail: false },
    (stage) => stage.originPort,
    'gzip on; gzip_types application/json; gzip_proxied any; gzip_vary on;',
  ),
  varnish,
  expressPeer('Express, lru-cache', 'lru'),
  expressPeer('Express, apicache', 'apicache'),
  expressPeer('Express, undici cache', 'undici'),
  barePeer({ name: BARE_NODE, hasTail: true }, 'none'),
  barePeer({ name: BARE_NODE_WITH_LOG, hasTail: false }, 'pino'),
];
