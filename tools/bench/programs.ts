import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_ACCESS_TOKEN, type Emulator } from '../../emulator/emulator.ts';
import { imageOptions } from '../../test/helpers/image.ts';

// The programs that are measured. Each writes an access log and sends the same compressed bytes.

export interface Program {
  readonly name: string;
  /** The commands to start, one for each process. */
  readonly commands: (port: number) => readonly (readonly string[])[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The service as it was built in the folder `checkout`, with Node's options of its image. */
export const serviceIn = (
  checkout: string,
  emulator: Emulator,
  variables: Readonly<Record<string, string>> = {},
): Program => {
  const changes = Object.entries(variables).map(([name, value]) => `, ${name}=${value}`);
  const command = [process.execPath, ...imageOptions(checkout), join(checkout, 'dist/src/main.js')];
  return {
    name: `banks-bff${checkout === '.' ? '' : ` in ${checkout}`}${changes.join('')}`,
    commands: (port) => [['env', `PORT=${port}`, ...command]],
    env: {
      HOST: '127.0.0.1',
      MANAGEMENT_PORT: 'off',
      PROVIDER_ENVIRONMENT: 'sandbox',
      PROVIDER_SANDBOX_BASE_URL: emulator.baseUrl,
      PROVIDER_ACCESS_TOKEN: DEFAULT_ACCESS_TOKEN,
      BANK_FIELDS: 'code,ispb,name,fullName',
      TRUST_PROXY: '1',
      NODE_ENV: 'production',
      ...variables,
    },
  };
};

const peer = (script: string, ...args: readonly string[]): readonly string[] => [
  process.execPath,
  `dist/tools/bench/peers/${script}.js`,
  ...args,
];

/** Sends the recorded responses to the caching proxies. */
export const upstream = (recorded: string): Program => ({
  name: 'upstream',
  commands: (port) => [peer('bare', recorded, String(port))],
});

/** @param folder for their configuration and caches */
export const peers = (recorded: string, upstreamPort: number, folder: string): Program[] => {
  const proxies = [nginx(upstreamPort, folder), varnish(upstreamPort, folder)];
  return [
    ...proxies.filter(({ commands }) => existsSync(commands(0)[0]?.[0] ?? '')),
    {
      name: 'node:http with pino',
      commands: (port) => [peer('bare', recorded, String(port), 'pino')],
    },
    {
      name: 'Express with helmet, pino-http',
      commands: (port) => [peer('express', recorded, String(port))],
    },
  ];
};

/** Writes a file and returns its path. */
const write = (folder: string, name: string, text: string): string => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const nginx = (upstreamPort: number, folder: string): Program => ({
  name: 'nginx',
  commands: (port) => {
    const own = join(folder, `nginx-${port}`);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const configuration = `
${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; worker_processes 1; pid ${own}/pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log /dev/null combined buffer=32k flush=1s;
  keepalive_requests 100000000; tcp_nodelay on; server_tokens off;
  ${paths.map((path) => `${path}_temp_path ${own}/${path};`).join(' ')}
  proxy_cache_path ${own}/cache keys_zone=banks:1m inactive=7d;
  map $http_accept_encoding $coding { default ""; ~br br; }
  server {
    listen 127.0.0.1:${port};
    location = /banks {
      proxy_pass http://127.0.0.1:${upstreamPort}; proxy_set_header Accept-Encoding $coding;
      proxy_cache banks; proxy_cache_key banks$coding; proxy_cache_valid 200 1h;
      proxy_ignore_headers Cache-Control Vary; proxy_cache_lock on;
    }
  }
}
`;
    return [['/usr/sbin/nginx', '-p', own, '-c', write(own, 'nginx.conf', configuration)]];
  },
});

const varnish = (upstreamPort: number, folder: string): Program => ({
  name: 'Varnish',
  commands: (port) => {
    const own = join(folder, `varnish-${port}`);
    const rules = `vcl 4.1;
backend upstream { .host = "127.0.0.1"; .port = "${upstreamPort}"; }
sub vcl_recv {
  unset req.http.Cookie;
  if (req.http.Accept-Encoding ~ "br") { set req.http.Accept-Encoding = "br"; }
  else { unset req.http.Accept-Encoding; }
  return (hash);
}
sub vcl_backend_response { set beresp.ttl = 1h; }
`;
    const options = `-F -j none -n ${own}/work -a 127.0.0.1:${port} -s malloc,64m`.split(' ');
    // Varnish itself knows gzip only.
    const server = [...options, '-p', 'http_gzip_support=off', '-f', write(own, 'vcl', rules)];
    const log = ['-n', `${own}/work`, '-t', '20', '-w', '/dev/null'];
    return [
      ['/usr/sbin/varnishd', ...server],
      ['/usr/bin/varnishncsa', ...log],
    ];
  },
});
