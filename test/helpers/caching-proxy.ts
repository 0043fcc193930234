import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeLater } from './close-later.ts';
import { onFreePort } from './free-port.ts';
import { needProgram } from './needs.ts';
import { runProgram, SYSTEM_PATH } from './program.ts';
import { temporaryFolder } from './temporary-folder.ts';

// Real caches in front of the service: nginx and Varnish, as their packages are, told only where
// the service is. They are stopped after the test.

export type CachingProxy = Awaited<ReturnType<typeof start>>;

const nginx = needProgram(['nginx', '/usr/sbin/nginx'], 'On Debian: apt-get install nginx');
const varnish = needProgram(
  ['varnishd', '/usr/sbin/varnishd'],
  'On Debian: apt-get install varnish',
);

/** `describe` for tests that need nginx. */
export const describeWithNginx = nginx.describeWithIt;

/** `describe` for tests that need Varnish. */
export const describeWithVarnish = varnish.describeWithIt;

/**
 * Runs one of them, which cannot tell which port it got. @param argsFor its arguments; `folder` is
 * for its files
 */
const start = (command: string, argsFor: (port: number, folder: string) => readonly string[]) => {
  const folder = temporaryFolder('banks-cache-');
  return onFreePort(async (port) => {
    // Varnish has a C compiler make a program of its rules.
    const program = runProgram(command, {
      args: argsFor(port, folder),
      env: { PATH: SYSTEM_PATH },
    });
    closeLater(() => program.end('SIGTERM'));
    await program.listens(port);
    return { url: `http://127.0.0.1:${port}` };
  });
};

/**
 * nginx in front of the service at `serviceUrl`, which renews what it serves in the background
 * unless told otherwise.
 */
export const startNginx = (
  serviceUrl: string,
  upstream = 'keepalive 16;',
  location = `proxy_cache banks; proxy_cache_revalidate on; proxy_cache_background_update on;
          proxy_cache_use_stale updating; add_header X-Proxy $upstream_cache_status always;`,
): Promise<CachingProxy> =>
  start(nginx.program, (port, folder) => {
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
      upstream service { server ${new URL(serviceUrl).host}; ${upstream} }
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
    return ['-p', folder, '-c', file, '-e', join(folder, 'error.log')];
  });

/** Varnish with its built-in rules in front of the service at `serviceUrl`. */
export const startVarnish = (serviceUrl: string): Promise<CachingProxy> =>
  start(varnish.program, (port, folder) => {
    const addresses = ['-a', `127.0.0.1:${port}`, '-b', new URL(serviceUrl).host];
    return ['-F', '-j', 'none', '-n', folder, ...addresses, '-s', 'malloc,16m'];
  });
