import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type Page } from 'playwright-core';
import { startNginx, type CachingProxy } from '../kit/caching-proxy.ts';
import { eventually, startRig, type Rig } from '../kit/rig.ts';

// nginx as a caching proxy in front of the service, and a real Chromium in front of nginx, on a page of another origin. What
// caches do by themselves: deploy/caches.test.ts.

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
let nginx: CachingProxy;
let frontend: Server;
let browser: Browser;
let page: Page;
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
  nginx = await startNginx(rig.url);
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
  await nginx.close();
  frontend.close();
  await rig.close();
});

suite('behind nginx and in Chromium', () => {
  const requestLines = (): Record<string, unknown>[] =>
    rig
      .log()
      .split('\n')
      .filter((line) => line.includes('"msg":"request"') && line.includes('/banks'))
      .map((line): Record<string, unknown> => ({ ...Object(JSON.parse(line)) }));

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
    expect(await inPage(`${nginx.url}/banks`)).toEqual({
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
