import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { onFreePort } from '../kit/free-port.ts';
import { runProgram, type Program } from '../kit/program.ts';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// nginx as a caching proxy in front of the service, and a real Chromium in front of nginx, on a page of another origin.

const NGINX = '/usr/sbin/nginx';
const CHROMIUM = '/usr/bin/chromium';
const isInstalled = existsSync(NGINX) && existsSync(CHROMIUM);
// oxlint-disable-next-line node/no-process-env -- whether this is CI, where nothing may be skipped
const isRequired = process.env['CI'] === 'true';
if (!isInstalled && !isRequired) {
  process.stderr.write(
    'Left out: the tests with nginx and Chromium. To have them: apt-get install -y nginx chromium\n',
  );
}
const suite = isInstalled || isRequired ? describe : describe.skip;

let rig: Rig;
let folder: string;
let nginx: Program;
let frontend: Server;
let browser: Browser;
let page: Page;
let proxyUrl = '';
let frontendUrl = '';

const portOf = (server: Server): number => {
  const address: AddressInfo | string | null = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port');
  return address.port;
};

beforeAll(async () => {
  if (!isInstalled && !isRequired) return;
  frontend = createServer((_req, res) => {
    res.setHeader('Content-Type', 'text/html');
    res.end('<!doctype html><link rel="icon" href="data:,"><title>A frontend</title>');
  }).listen(0, '127.0.0.1');
  await once(frontend, 'listening');
  frontendUrl = `http://127.0.0.1:${portOf(frontend)}`;
  rig = await startRig({ env: { CORS_ORIGINS: frontendUrl, BROWSER_MAX_AGE: '2s' } });
  await eventually(() => rig.service.list.served() !== undefined);
  await startNginx();
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  page = await browser.newPage();
  await page.goto(frontendUrl);
}, 30_000);

afterAll(async () => {
  if (!isInstalled && !isRequired) return;
  await browser.close();
  nginx.child.kill('SIGTERM');
  await nginx.exit;
  frontend.close();
  await rig.close();
  await rm(folder, { recursive: true });
});

const startNginx = async (): Promise<void> => {
  folder = await mkdtemp(join(tmpdir(), 'banks-nginx-'));
  await mkdir(join(folder, 'cache'));
  // nginx cannot tell which port it got.
  await onFreePort(async (port) => {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder}/${kind};`,
    );
    await writeFile(
      join(folder, 'nginx.conf'),
      `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_processes 1;
    events { worker_connections 256; }
    http {
      access_log off; ${temporary.join(' ')}
      proxy_cache_path ${folder}/cache keys_zone=banks:1m;
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass ${rig.url};
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_cache banks;
          proxy_cache_revalidate on;
          proxy_cache_background_update on;
          add_header X-Proxy $upstream_cache_status always;
        }
      }
    }`,
    );
    nginx = runProgram(NGINX, {
      args: ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')],
    });
    let hasEnded = false;
    void nginx.exit.then(() => (hasEnded = true));
    // It writes its process id once it listens.
    await eventually(() => hasEnded || existsSync(join(folder, 'pid')));
    if (hasEnded) throw new Error(`nginx ended: ${nginx.output()}`);
    proxyUrl = `http://127.0.0.1:${port}`;
  });
};

/** What the proxy says about a response: MISS, HIT, STALE, REVALIDATED or, meanwhile, UPDATING. */
const viaProxy = async (fields: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${proxyUrl}/banks`, { headers: { 'Accept-Encoding': 'br', ...fields } });
  await response.arrayBuffer();
  return { status: response.status, headers: response.headers, proxy: response.headers.get('x-proxy') };
};

suite('behind nginx and in Chromium', () => {
  test('nginx caches each encoding and each origin separately, and revalidates with a 304', async () => {
    const origin = { Origin: frontendUrl };
    expect((await viaProxy(origin)).proxy).toBe('MISS');
    const hit = await viaProxy(origin);
    expect(hit.proxy).toBe('HIT');
    expect(hit.headers.get('content-encoding')).toBe('br');
    const gzipped = await viaProxy({ ...origin, 'Accept-Encoding': 'gzip' });
    expect(gzipped.proxy).toBe('MISS');
    expect(gzipped.headers.get('content-encoding')).toBe('gzip');
    const stranger = await viaProxy({ Origin: 'https://evil.example.com' });
    expect(stranger.headers.has('access-control-allow-origin')).toBe(false);
    expect((await viaProxy(origin)).headers.get('access-control-allow-origin')).toBe(frontendUrl);
  });

  const requestLines = (): Record<string, unknown>[] =>
    rig
      .log()
      .split('\n')
      .filter((line) => line.includes('"msg":"request"') && line.includes('/banks'))
      .map((line): Record<string, unknown> => ({ ...Object(JSON.parse(line)) }));

  test('after max-age nginx serves the old list at once and revalidates it in the background with a 304', async () => {
    const origin = { Origin: frontendUrl };
    await viaProxy(origin);
    const before = requestLines().length;
    let stale: string | null = '';
    const untilStale = async (): Promise<void> => {
      stale = (await viaProxy(origin)).proxy;
      if (stale === 'HIT' || stale === 'MISS') await new Promise((resolve) => setTimeout(resolve, 100));
    };
    for (let tries = 0; tries < 50 && !['STALE', 'UPDATING'].includes(stale ?? ''); tries += 1)
      await untilStale();
    expect(['STALE', 'UPDATING']).toContain(stale);
    await eventually(() => requestLines().length > before);
    expect(requestLines().at(-1)).toMatchObject({ status: 304, bytes: 0 });
  }, 15_000);

  /** Fetches in the page, and returns what a frontend sees. */
  const inPage = (url: string, cache: 'default' | 'no-cache' | 'no-store' = 'default') =>
    page.evaluate(
      `fetch(${JSON.stringify(url)}, { cache: ${JSON.stringify(cache)} }).then(async (response) => ({
      status: response.status,
      count: (await response.json().catch(() => [])).length,
      etag: response.headers.get('etag'),
      cacheStatus: response.headers.get('cache-status'),
      requestId: response.headers.get('x-request-id'),
      hidden: response.headers.get('content-security-policy'),
    }), (error) => ({ error: error.name }))`,
    );

  test('a page of the allowed origin can read the list and the exposed headers through the proxy', async () => {
    expect(await inPage(`${proxyUrl}/banks`)).toEqual({
      status: 200,
      count: 513,
      etag: expect.stringMatching(/^"/),
      cacheStatus: expect.stringMatching(/^banks-bff; hit; ttl=/),
      requestId: expect.any(String),
      hidden: null,
    });
  });

  test('the browser sends no request within max-age, and then revalidates with a 304', async () => {
    // Straight to the service, whose log shows what the browser requested.
    const url = `${rig.url}/banks?browser`;
    await inPage(url);
    const first = requestLines().length;
    await inPage(url);
    expect(requestLines().length).toBe(first);
    expect(await inPage(url, 'no-cache')).toMatchObject({ status: 200, count: 513 });
    await eventually(() => requestLines().length > first);
    expect(requestLines().at(-1)).toMatchObject({ status: 304 });
  });

  test('a preflight succeeds, and a page may send the headers that tracing adds', async () => {
    const seen = await page.evaluate(
      `fetch(${JSON.stringify(`${rig.url}/banks`)}, { headers: { traceparent: 'x', 'X-Request-Id': 'from-the-page' } })
      .then((response) => response.headers.get('x-request-id'))`,
    );
    expect(seen).toBe('from-the-page');
  });

  test('a page can read an error of the service, and a page of another origin nothing', async () => {
    expect(await inPage(`${rig.url}/nothing`)).toMatchObject({ status: 404 });
    const stranger = await browser.newPage();
    await stranger.goto(frontendUrl.replace('127.0.0.1', 'localhost'));
    const seen = await stranger.evaluate(
      `fetch(${JSON.stringify(`${rig.url}/banks`)}).then(() => 'read', (error) => error.name)`,
    );
    expect(seen).toBe('TypeError');
  });
});
