import { readFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import type { Request, RequestHandler } from 'express';
import type { DestinationStream, Logger } from 'pino';
import { OVERRIDABLE, isOverridable, type Overridable } from '../banks/guard.ts';
import { STOPPING, type LoadErrorKind } from '../banks/load-error.ts';
import { countUnusable } from '../banks/reading/entry.ts';
import { toIso } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createApp } from '../http/app.ts';
import { createClientAddress } from '../http/client-address.ts';
import type { CommonHeaders } from '../http/common-headers.ts';
import type { Cors } from '../http/cors.ts';
import { JSON_TYPE, sendUncached } from '../http/headers.ts';
import { sendProblem } from '../http/problems.ts';
import { PROBES } from '../http/health.ts';
import { createRequestLog } from '../http/request-log.ts';
import type { Redaction } from '../secrets/redaction.ts';
import type { SecretFileState } from '../secrets/secrets.ts';
import type { ManagementRefusedEvent } from '../telemetry/events.ts';
import type { Minute } from '../telemetry/history.ts';
import { createHostCheck, createTokenCheck, type OnRefusal } from './authorization.ts';
import type { DrainTimes } from './drain-times.ts';
import { createDetailedHealthz, type DetailedHealthOptions } from './health.ts';
import { commandsFor, renderPage } from './status-page/page.ts';

// The routes of the management port: what must not be public. It listens on loopback by default,
// and changes need a token.

/** What the management port needs of the service. */
export interface ManagementServerOptions extends DetailedHealthOptions {
  readonly isDraining: () => boolean;
  readonly logger: Logger;
  /** Where `logger` writes what it has redacted. */
  readonly logDestination: DestinationStream;
  readonly redact: Redaction['redact'];
  /** Gives all metrics in Prometheus's text format. */
  readonly metrics: { readonly exposition: () => Promise<string> };
  readonly history: { readonly minutes: () => readonly Minute[] };
  readonly emit: (event: ManagementRefusedEvent) => void;
  /** Gives the management token; undefined: there is none, and nobody is authorised. */
  readonly readToken: (() => Promise<string>) | undefined;
  /** Reads all secrets again, and says what failed. */
  readonly renewSecrets: () => Promise<readonly string[]>;
  /** When the drain under way ends; undefined: there is none. */
  readonly drain: () => DrainTimes | undefined;
}

/** The same, with the parts of its server. */
interface ManagementAppOptions extends ManagementServerOptions {
  readonly cors: Cors;
  readonly commonHeaders: CommonHeaders;
}

export const createManagementApp = (
  config: Config,
  options: ManagementAppOptions,
): RequestListener => {
  const { list, stores, secretFiles, environment, version } = options;
  const { drain, clock, metrics, history, emit } = options;
  const { logger, logDestination, redact, readToken } = options;
  const onRefusal: OnRefusal = (reason) => emit({ type: 'management-refused', reason });
  const { hosts } = config.management;
  const clientAddress = createClientAddress(config.trustProxy);
  // Without `emit`: these requests are logged and not counted, since they are not users'.
  const requestLog = createRequestLog({
    logger,
    logDestination,
    redact,
    clientAddress,
    routineRoutes: ROUTINE_ROUTES,
  });
  const instance = { environment, version, hostName: hostname(), fields: config.banks.fields };
  const statusPage: RequestHandler = (req, res) => {
    const now = {
      policy: config.cache,
      nowMs: clock.wallMs(),
      status: list.status(),
      stores: stores(),
      secretFiles: secretFiles(),
      minutes: history.minutes(),
      drain: drain(),
      commands: commandsFor(req, readToken !== undefined),
    };
    const { html } = renderPage({ ...instance, ...now });
    sendForBrowser(res, 'text/html', redactTexts(html, redact));
  };
  return createApp(
    { ...options, requestLog },
    (resource, app, refuse) => {
      resource('/healthz', createDetailedHealthz(options));
      resource('/metrics', async (_req, res) => {
        sendUncached(res, 'text/plain; version=0.0.4; charset=utf-8', await metrics.exposition());
      });
      resource('/', statusPage);
      resource('/status-page.css', file('status-page.css', 'text/css'));
      resource('/plots.css', file('plots.css', 'text/css'));
      resource('/status-page.js', file('status-page.js', 'text/javascript'));
      app
        .route('/refresh')
        .post(createTokenCheck(readToken, onRefusal), createRefresh(options))
        .all((req, res) => {
          res.set('Allow', 'POST');
          refuse(req, res, 'method_not_allowed');
        });
    },
    createHostCheck(hosts, onRefusal),
  );
};

/** An open status page asks every 5 s, and Prometheus asks for ever. */
const ROUTINE_ROUTES = new Set([
  ...PROBES,
  '/metrics',
  '/',
  '/status-page.css',
  '/plots.css',
  '/status-page.js',
]);

/**
 * A message may name fields of the provider, and one of them may be a secret. Only what people read
 * is redacted: a secret may be a word of the page's own code.
 */
const redactTexts = (html: string, redact: Redaction['redact']): string =>
  html.replaceAll(/(?<=>)[^<]+/g, (text) => redact(text));

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

/**
 * `POST /refresh`: renews the secrets and loads with them now. `?accept=shrunk` takes this one list
 * even if the guard would refuse it for its size, `?accept=drifted` even if published fields
 * changed, and `?accept=shrunk,drifted` both; none for any other reason. It fails unless every
 * secret file is usable, a new token was granted and the list was renewed. `secretFiles` says since
 * when the content of each file is in use. `shared` is false while Redis cannot be reached: the
 * other replicas get the list once it can.
 */
const createRefresh =
  ({ list, renewSecrets, secretFiles, redact }: ManagementServerOptions): RequestHandler =>
  async (req, res) => {
    const overrides = toOverrides(req.query);
    if (!overrides) {
      sendProblem(res, 'bad_request', {
        detail: `The only parameter is accept: ${OVERRIDABLE.join(' or ')}, or both, separated by a comma.`,
      });
      return;
    }
    const problems = await renewSecrets();
    const before = list.status().cached?.representations;
    const result = await list.refresh(overrides, res.get('X-Request-Id'));
    if (result.outcome === 'failed' && result.error === STOPPING) {
      sendProblem(res, 'draining');
      return;
    }
    if (result.outcome === 'overtaken') {
      sendProblem(res, 'overtaken', { secretFiles: toMembers(secretFiles()) });
      return;
    }
    if (result.outcome === 'failed') {
      const { kind, message } = result.error;
      const detail = [...problems, `${message}${hintFor(kind, overrides)}`].join('. ');
      sendProblem(res, 'refresh_failed', { detail: redact(detail), kind });
      return;
    }
    if (problems.length > 0) {
      sendProblem(res, 'secrets_not_renewed', {
        detail: redact(['The list was renewed', ...problems].join('. ')),
        secretFiles: toMembers(secretFiles()),
      });
      return;
    }
    const { cached } = list.status();
    const response = {
      outcome: cached?.representations === before ? 'unchanged' : 'changed',
      count: cached?.count,
      rejected: cached && countUnusable(cached.rejected),
      // Undefined, and so left out, without Redis.
      shared: result.isShared,
      secretFiles: toMembers(secretFiles()),
    };
    sendUncached(res, JSON_TYPE, JSON.stringify(response));
  };

/** Each variable with when the service first used the current content of its file. */
const toMembers = (files: readonly SecretFileState[]) =>
  Object.fromEntries(
    files.map(({ variable, contentSinceMs }) => [
      variable,
      { contentSince: contentSinceMs === undefined ? null : toIso(contentSinceMs) },
    ]),
  );

/** The reasons in `?accept=`; undefined if one of them, or another parameter, is unknown. */
const toOverrides = ({
  accept,
  ...others
}: Request['query']): readonly Overridable[] | undefined => {
  if (Object.keys(others).length > 0) return undefined;
  if (accept === undefined) return [];
  const named = typeof accept === 'string' ? accept.split(',') : [''];
  return named.every(isOverridable) ? named : undefined;
};

/** How to accept a list that was refused for `kind` despite these overrides. */
const hintFor = (kind: LoadErrorKind, overrides: readonly Overridable[]): string =>
  isOverridable(kind)
    ? `; if that is right, POST /refresh?accept=${[...overrides, kind].join(',')} accepts it`
    : '';
