import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onFreePort } from './free-port.ts';
import { needProgram } from './needs.ts';
import { runProgram, type Program } from './program.ts';
import { eventually } from './rig.ts';

// Real caches in front of the service: nginx and Varnish, as their packages are, told only where the service is.

export interface CachingProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** `describe` for tests that need nginx. */
export const { program: nginxProgram, describeWithIt: describeWithNginx } = needProgram(
  ['nginx', '/usr/sbin/nginx'],
  'On Debian: apt-get install nginx',
);

/** `describe` for tests that need Varnish. */
export const { program: varnishProgram, describeWithIt: describeWithVarnish } = needProgram(
  ['varnishd', '/usr/sbin/varnishd'],
  'On Debian: apt-get install varnish',
);

/** Where Debian has them. */
const PATH = '/usr/sbin:/usr/bin:/bin';

/** Neither can tell which port it got. `startOn` resolves once the program listens. */
const start = async (startOn: (port: number, folder: string) => Promise<Program>): Promise<CachingProxy> => {
  const folder = mkdtempSync(join(tmpdir(), 'banks-cache-'));
  return onFreePort(async (port) => {
    const program = await startOn(port, folder);
    return {
      url: `http://127.0.0.1:${port}`,
      close: async () => {
        program.child.kill('SIGTERM');
        await program.exit;
        rmSync(folder, { recursive: true });
      },
    };
  });
};

const isAccepting = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    () => true,
    () => false,
  );

/**
 * nginx in front of the service at `serviceUrl`.
 * @param options.location what `location /` has besides `proxy_pass`; unless given, the cache with background updates
 * @param options.keepAlive how many idle connections it keeps to the service, and for how long
 */
export const startNginx = (
  serviceUrl: string,
  {
    location = `proxy_cache banks; proxy_cache_revalidate on; proxy_cache_background_update on;
          proxy_cache_use_stale updating; add_header X-Proxy $upstream_cache_status always;`,
    keepAlive = 'keepalive 16;',
  } = {},
): Promise<CachingProxy> =>
  start(async (port, folder) => {
    const file = join(folder, 'nginx.conf');
    mkdirSync(join(folder, 'cache'), { recursive: true });
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder}/${kind};`,
    );
    writeFileSync(
      file,
      `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; pid ${folder}/pid; worker_processes 1;
    events { worker_connections 2048; }
    http {
      access_log off; ${temporary.join(' ')}
      proxy_cache_path ${folder}/cache keys_zone=banks:1m;
      upstream service { server ${new URL(serviceUrl).host}; ${keepAlive} }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://service;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          ${location}
        }
      }
    }`,
    );
    const program = runProgram(nginxProgram, {
      args: ['-p', folder, '-c', file, '-e', join(folder, 'error.log')],
      env: { PATH },
    });
    let hasEnded = false;
    void program.exit.then(() => (hasEnded = true));
    // It writes its process id once it listens.
    await eventually(() => hasEnded || existsSync(join(folder, 'pid')));
    if (hasEnded) throw new Error(`nginx ended: ${program.output()}`);
    return program;
  });

/** Varnish with its built-in rules in front of the service at `serviceUrl`. */
export const startVarnish = (serviceUrl: string): Promise<CachingProxy> =>
  start(async (port, folder) => {
    const program = runProgram(varnishProgram, {
      args: [
        '-F',
        '-j',
        'none',
        '-n',
        folder,
        '-a',
        `127.0.0.1:${port}`,
        '-b',
        new URL(serviceUrl).host,
        '-s',
        'malloc,16m',
      ],
      // It has a C compiler make a program of its rules.
      env: { PATH },
    });
    // It accepts connections a moment later.
    await program.says(/Child starts/);
    while (!(await isAccepting(port))) if (program.child.exitCode !== null) throw new Error(program.output());
    return program;
  });
