import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, extname } from 'node:path';

// Serves the bank picker's page, and the element that it uses, from an origin of its own, on
// loopback. It knows a closed set of files and nothing of the list: the browser asks the service
// for that, and the page's policy lets it ask nobody else.

export interface DemoPageOptions {
  /** 0, the default, picks a free one. */
  readonly port?: number;
  /**
   * The service's `/banks`. A function is asked at each visit, for a service that starts after the
   * page.
   */
  readonly banksUrl: string | (() => string);
}

export interface DemoPage {
  /** The page's address; its origin is what the service's `CORS_ORIGINS` must hold. */
  readonly url: string;
  close(): Promise<void>;
}

/** Rejects with Node's error, such as EADDRINUSE. */
export const startDemoPage = async ({ port = 0, banksUrl }: DemoPageOptions): Promise<DemoPage> => {
  const files = new Map([
    ...filesIn('/', '#demo-page/index.html'),
    ...filesIn('/bank-picker/', 'banks-bff-picker/package.json'),
  ]);

  const server = createServer((req, res) => {
    const path = (req.url ?? '').split('?', 1)[0] ?? '';
    const file = files.get(path === '/' ? '/index.html' : path);
    if (!file || (req.method !== 'GET' && req.method !== 'HEAD')) {
      res.writeHead(file ? 405 : 404, file ? { allow: 'GET, HEAD' } : {}).end();
      return;
    }
    const url = new URL(typeof banksUrl === 'string' ? banksUrl : banksUrl());
    res.writeHead(200, {
      'content-type': `${file.type}; charset=utf-8`,
      'content-security-policy': policy(url.origin),
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    });
    // A URL's href has no quote and no angle bracket left in it.
    res.end(file.text.replace('{{banksUrl}}', () => url.href.replaceAll('&', '&amp;')));
  });

  const url = await new Promise<string>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address === 'object' && address) resolve(`http://127.0.0.1:${address.port}`);
    });
  });
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const TYPES: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html'],
  ['.css', 'text/css'],
  ['.js', 'text/javascript'],
]);

/**
 * What browsers may ask of a folder, by path. `known` is a file in it as a module may import it: so
 * the compiled server finds the same folder as its source.
 */
const filesIn = (
  path: string,
  known: string,
): [path: string, file: { type: string; text: string }][] => {
  const folder = dirname(createRequire(import.meta.url).resolve(known));
  return readdirSync(folder).flatMap((name) => {
    const type = TYPES.get(extname(name));
    return type
      ? [[`${path}${name}`, { type, text: readFileSync(`${folder}/${name}`, 'utf8') }]]
      : [];
  });
};

/**
 * Own scripts and styles, one place to ask, and no string ever parsed as markup (Trusted Types).
 */
const policy = (serviceOrigin: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    `connect-src ${serviceOrigin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
