import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { chromium, type Page } from 'playwright-core';
import { Agent, request } from 'undici';
import { MANY, sendWithHttp, type Client } from './client.ts';
import { CHROME } from './scenarios.ts';

// Clients that the bench's process drives, with their default headers: Chromium, Node's, and bytes as other clients send them.

const inNode = (name: string, send: (url: string, requests: number) => Promise<unknown>): Client => ({
  name,
  requests: MANY,
  isInstalled: () => true,
  open: async ({ url }) => ({
    send: (requests) => send(url, requests),
    close: async () => undefined,
  }),
});

const sendWithUndici = async (url: string, requests: number): Promise<void> => {
  const dispatcher = new Agent({ connections: 1 });
  for (let left = requests; left > 0; left -= 1) {
    const { statusCode, body } = await request(url, { dispatcher });
    await body.dump();
    if (statusCode !== 200) throw new Error(`status ${statusCode}`);
  }
  await dispatcher.close();
};

const sendWithFetch = async (url: string, requests: number): Promise<void> => {
  for (let left = requests; left > 0; left -= 1) {
    const response = await fetch(url);
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`status ${response.status}`);
  }
};

/** Sends the headers of a client, without the client. */
const raw = (name: string, fieldsOf: (host: string, index: number) => readonly string[]): Client =>
  inNode(`${name} (its headers)`, (url, requests) => sendRaw(new URL(url), requests, fieldsOf));

const sendRaw = (
  { hostname, port, host }: URL,
  requests: number,
  fieldsOf: (host: string, index: number) => readonly string[],
): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true });
    let left = requests;
    /** Bytes of the response that have not arrived yet. */
    let due = 0;
    const next = (): void => {
      if (left === 0) return void socket.end(resolve);
      left -= 1;
      socket.write(`GET /banks HTTP/1.1\r\n${fieldsOf(host, left).join('\r\n')}\r\n\r\n`);
    };
    socket.on('error', reject).on('connect', next);
    socket.on('data', (chunk) => {
      if (due === 0) {
        const [head = ''] = chunk.toString('latin1').split('\r\n\r\n', 1);
        if (!head.startsWith('HTTP/1.1 200 ')) return void socket.destroy(new Error(head));
        due = head.length + 4 + Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
      }
      due -= chunk.length;
      if (due === 0) next();
    });
  });

/** As Envoy passes them on: in lower case, and without those of the connection. */
const BROWSER_FIELDS = Object.entries(CHROME)
  .filter(([name]) => name !== 'Connection')
  .map(([name, value]) => `${name.toLowerCase()}: ${value}`);

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const browser = (
  name: string,
  requests: number,
  send: (page: Page, url: string, requests: number) => Promise<unknown>,
): Client => ({
  name: `Chromium, ${name}`,
  requests,
  isInstalled: () => CHROMIUM.some(existsSync),
  open: async ({ url, pageUrl }) => {
    const chrome = await chromium.launch({
      executablePath: CHROMIUM.find(existsSync) ?? '',
      // In a container it runs as root, where its sandbox cannot start.
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
    });
    const page = await chrome.newPage();
    await page.goto(pageUrl);
    return { send: (count) => send(page, url, count), close: () => chrome.close() };
  },
});

/** `input`: the arguments of fetch, which may use `index`. */
const fetchInPage = (page: Page, requests: number, input: string): Promise<unknown> =>
  page.evaluate(`(async () => {
    for (let index = 0; index < ${requests}; index += 1) {
      const response = await fetch(${input});
      if (!response.ok) throw new Error('status ' + response.status);
      await response.json();
    }
  })()`);

const navigate = async (page: Page, url: string, requests: number): Promise<void> => {
  for (let index = 0; index < requests; index += 1) await page.goto(`${url}?navigation=${index}`);
};

export const CLIENT_LIBRARIES: readonly Client[] = [
  // Another query each: otherwise the browser would use its cache.
  browser('fetch from a page of another origin, 200', MANY, (page, url, requests) =>
    fetchInPage(page, requests, `'${url}?' + index`),
  ),
  browser('revalidation from a page of another origin, 304', MANY, (page, url, requests) =>
    fetchInPage(page, requests, `'${url}', { cache: 'no-cache' }`),
  ),
  browser('opened as a page', 100, navigate),
  raw('Envoy as an edge proxy', (host, index) => [
    `host: ${host}`,
    ...BROWSER_FIELDS,
    `x-forwarded-for: 198.51.100.${index % 254}`,
    'x-forwarded-proto: https',
    `x-envoy-external-address: 198.51.100.${index % 254}`,
    `x-request-id: 5a0b9c1e-7d42-4f0e-9a3b-${index.toString(16).padStart(12, '0')}`,
    'x-envoy-expected-rq-timeout-ms: 15000',
  ]),
  inNode("Node's http, keep-alive", (url, requests) =>
    sendWithHttp({ urlOf: () => url, requests, agent: { keepAlive: true } }),
  ),
  inNode("Node's http, a connection per request", (url, requests) =>
    sendWithHttp({ urlOf: () => url, requests, agent: { keepAlive: false } }),
  ),
  inNode("Node's fetch", sendWithFetch),
  inNode('undici, request', sendWithUndici),
  raw("Go's net/http", (host) => [
    `Host: ${host}`,
    'User-Agent: Go-http-client/1.1',
    'Accept-Encoding: gzip',
  ]),
];
