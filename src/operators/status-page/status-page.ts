import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import type { RequestHandler } from 'express';
import type { Acceptance } from '../../banks/guard/guard.ts';
import type { HealthOptions } from '../../http/health.ts';
import type { Minute } from '../../telemetry/history.ts';
import { renderPage, type Commands, type PageContent } from './page.ts';
import type { DrainTimes } from './verdict.ts';

// The page that people open first when something seems wrong. It is complete without its script, which only renews it
// in place, and it loads nothing from anywhere else. No address of the provider and no secret is on it.

export interface StatusPageOptions extends HealthOptions, Pick<PageContent, 'policy' | 'fields'> {
  /** Wall-clock milliseconds. */
  readonly wallMs: () => number;
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
      stores: options.stores(),
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

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const send = (res: ServerResponse, type: string, text: string): void => {
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

/** The shell commands on the page. Each works when it is pasted into a POSIX shell as it stands. */
const commandsFor = (req: IncomingMessage, isRefreshEnabled: boolean): Commands => {
  const accept = (reason: Acceptance) => ({
    // An unset variable stops the command, and the shell names it.
    line: `curl -X POST -H "Authorization: Bearer \${MANAGEMENT_TOKEN:?is not set}" '${baseUrlOf(req)}/refresh?accept=${reason}'`,
    requirement: isRefreshEnabled
      ? 'Set MANAGEMENT_TOKEN in your shell to the service’s management token first.'
      : 'POST /refresh is disabled: set MANAGEMENT_TOKEN or MANAGEMENT_TOKEN_FILE for the service and restart it first. Then set MANAGEMENT_TOKEN in your shell.',
  });
  return {
    doctor: {
      line: 'node dist/src/main.js doctor',
      requirement:
        'Run it in the directory of the service (in the image: /app), with the service’s environment.',
    },
    'accept-shrunk': accept('shrunk'),
    'accept-drifted': accept('drifted'),
  };
};

/** Names, IPv4 addresses and IPv6 addresses in brackets: no character that could end the shell's quotes. */
const SAFE_HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** The address under which the reader reached the page, perhaps through a tunnel; otherwise the listener's own. */
const baseUrlOf = ({ headers: { host = '' }, socket }: IncomingMessage): string => {
  if (SAFE_HOST.test(host)) return `http://${host}`;
  const address = socket.localAddress ?? '127.0.0.1';
  return `http://${address.includes(':') ? `[${address}]` : address}:${socket.localPort}`;
};
