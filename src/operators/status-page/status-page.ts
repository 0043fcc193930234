import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { RequestHandler } from 'express';
import type { FreshnessPolicy } from '../../banks/freshness.ts';
import type { PublishedField } from '../../config/values.ts';
import type { Minute } from '../../telemetry/history.ts';
import type { HealthOptions } from '../../http/health.ts';
import { commandsFor } from './commands.ts';
import { renderPage } from './page.ts';
import type { DrainTimes } from './verdict.ts';

// The page that people open first when something seems wrong. It is complete without its script, which only renews it
// in place, and it loads nothing from anywhere else. No address of the provider and no secret is on it.

export interface StatusPageOptions extends HealthOptions {
  /** Wall-clock milliseconds. */
  readonly wallMs: () => number;
  readonly policy: FreshnessPolicy;
  readonly fields: readonly PublishedField[] | undefined;
  readonly minutes: () => readonly Minute[];
  /** Undefined unless the service is shutting down. */
  readonly drain: () => DrainTimes | undefined;
  /** Whether `POST /refresh` is enabled. */
  readonly isRefreshEnabled: boolean;
}

/** The page and its files, by path. */
export const createStatusPage = (
  options: StatusPageOptions,
): readonly (readonly [string, RequestHandler])[] => {
  const { environment, version, policy, fields, isRefreshEnabled } = options;
  const instance = { environment, version, policy, fields, hostName: hostname() };
  const page: RequestHandler = (req, res) => {
    const now = {
      nowMs: options.wallMs(),
      status: options.list.status(),
      minutes: options.minutes(),
      drain: options.drain(),
      commands: commandsFor(req, isRefreshEnabled),
    };
    send(res, 'text/html', renderPage({ ...instance, ...now }).html);
  };
  return [
    ['/', page],
    ['/status-page.css', file('status-page.css', 'text/css')],
    ['/plots.css', file('plots.css', 'text/css')],
    ['/status-page.js', file('status-page.js', 'text/javascript')],
  ];
};

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

type Response = Parameters<RequestHandler>[1];

const send = (res: Response, type: string, text: string): void => {
  res.setHeader('Content-Type', `${type}; charset=utf-8`);
  res.setHeader('Content-Security-Policy', POLICY);
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
};

/** A file of files/, which the build copies to where this file is compiled to. */
const file = (name: string, type: string): RequestHandler => {
  const text = readFileSync(new URL(`files/${name}`, import.meta.url), 'utf8');
  return (_req, res) => send(res, type, text);
};
