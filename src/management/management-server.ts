import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import type { RequestHandler } from 'express';
import type { Config } from '../config/config.ts';
import type { HttpFront } from '../http-front/index.ts';
import { refuseMethod } from '../http/app.ts';
import { sendUncached } from '../http/headers.ts';
import { createPort, type PortOptions } from '../http/port.ts';
import type { ManagementRefusedEvent } from '../telemetry/events.ts';
import type { Minute } from '../telemetry/history.ts';
import { createHostCheck, createTokenCheck, type OnRefusal } from './authorization.ts';
import { createDetailedHealthz, type DetailedHealthOptions } from './health.ts';
import { createRefresh, type RefreshOptions } from './refresh.ts';
import { renderPage } from './status-page/page.ts';

// The management port: what must not be public. It listens on loopback by default, and changes need
// a token. It is bounded as the public port is, for fewer clients.

/** For Prometheus, probes and some open status pages. */
const MAX_CONNECTIONS = 100;

/** What the management port needs of the service. */
interface ManagementServerOptions extends PortOptions, DetailedHealthOptions, RefreshOptions {
  /** Gives all metrics in Prometheus's text format. */
  readonly metrics: { readonly exposition: () => Promise<string> };
  readonly history: { readonly minutes: () => readonly Minute[] };
  readonly emit: (event: ManagementRefusedEvent) => void;
  /** Gives the management token; undefined: there is none, and nobody is authorised. */
  readonly readToken: (() => Promise<string>) | undefined;
}

export const createManagementServer = (
  config: Config,
  options: ManagementServerOptions,
): HttpFront => {
  const { list, stores, secretFiles, environment, version } = options;
  const { isDraining, clock, metrics, history, emit, readToken } = options;
  const onRefusal: OnRefusal = (reason) => emit({ type: 'management-refused', reason });
  const hostName = hostname();
  const statusPage: RequestHandler = ({ headers, socket }, res) => {
    const page = renderPage({
      environment,
      version,
      hostName,
      fields: config.banks.fields,
      policy: config.cache,
      nowMs: clock.wallMs(),
      status: list.status(),
      stores: stores(),
      secretFiles: secretFiles(),
      minutes: history.minutes(),
      isDraining: isDraining(),
      // HTTP/1.0 requests may name none.
      host: headers.host ?? `127.0.0.1:${socket.localPort}`,
      isRefreshEnabled: readToken !== undefined,
    });
    sendForBrowser(res, 'text/html', page.html);
  };
  // No other origin is allowed. Its requests are logged and not counted, since they are not users'.
  return createPort(config, {
    ...options,
    origins: [],
    connections: MAX_CONNECTIONS,
    // An open status page asks every 5 s, and Prometheus asks for ever.
    isRoutine: (route) => route !== '/refresh',
    emit: () => undefined,
    define: ({ resource, app }) => {
      app.use(createHostCheck(config.management.hosts, onRefusal));
      resource('/healthz', createDetailedHealthz(options));
      resource('/metrics', async (_req, res) => {
        sendUncached(res, 'text/plain; version=0.0.4; charset=utf-8', await metrics.exposition());
      });
      resource('/', statusPage);
      resource('/status-page.css', file('status-page.css', 'text/css'));
      resource('/status-page.js', file('status-page.js', 'text/javascript'));
      app
        .route('/refresh')
        .post(createTokenCheck(readToken, onRefusal), createRefresh(options))
        .all(refuseMethod('POST'));
      return undefined;
    },
  });
};

/** The status page loads nothing from anywhere else. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const sendForBrowser = (res: ServerResponse, type: string, text: string): void => {
  res.setHeader('Content-Security-Policy', POLICY);
  sendUncached(res, `${type}; charset=utf-8`, text);
};

/** A file of the status page, which the build copies to where this file is compiled to. */
const file = (name: string, type: string): RequestHandler => {
  const text = readFileSync(new URL(`status-page/files/${name}`, import.meta.url), 'utf8');
  return (_req, res) => sendForBrowser(res, type, text);
};
