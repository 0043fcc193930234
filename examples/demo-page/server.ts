import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import express from 'express';

// Serves the bank picker's page, and the element that it uses, from an origin of its own, on
// loopback. It knows nothing of the list: the browser asks the service for that, and the
// page's policy lets it ask nobody else.

export interface DemoPage {
  /** The page's address; its origin is what the service's `CORS_ORIGINS` must hold. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

// As modules are found, the compiled server finds the same files as its source.
const { resolve } = createRequire(import.meta.url);
const page = readFileSync(resolve('#demo-page/index.html'), 'utf8');
const pageFolder = dirname(resolve('#demo-page/index.html'));
const pickerFolder = dirname(resolve('banks-bff-picker/package.json'));

/**
 * @param banksUrl the service's `/banks`; asked at each visit, for a service that starts later
 * @param port by default a free one
 */
export const startDemoPage = async (banksUrl: () => string, port = 0): Promise<DemoPage> => {
  const app = express()
    .disable('x-powered-by')
    .use((_req, res, next) => {
      res.set({
        'Content-Security-Policy': policy(new URL(banksUrl()).origin),
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Referrer-Policy': 'no-referrer',
        'X-Content-Type-Options': 'nosniff',
        'Cache-Control': 'no-cache',
      });
      next();
    })
    // A URL's href has no quote and no angle bracket left in it.
    .get('/', (_req, res) => {
      const { href } = new URL(banksUrl());
      res.send(page.replace('{{banksUrl}}', () => href.replaceAll('&', '&amp;')));
    })
    .get(['/page.js', '/page.css'], (req, res) => res.sendFile(req.path, { root: pageFolder }))
    .get('/bank-picker/:module.js', ({ params }, res) =>
      res.sendFile(`${params.module}.js`, { root: pickerFolder }),
    );
  const server = createServer(app).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
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
