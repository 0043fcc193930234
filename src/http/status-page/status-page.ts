import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { RequestHandler } from 'express';
import type { ListStatus } from '../../banks/bank-list.ts';
import type { FreshnessPolicy } from '../../banks/freshness.ts';
import type { PublishedField } from '../../config/values.ts';
import type { Minute } from '../../telemetry/history.ts';
import type { HealthOptions } from '../health.ts';
import { html, type Html } from './html.ts';
import { plots } from './plots.ts';
import { sayDuration, sayFailure, tellStory, type Step, type Story } from './story.ts';

// The page that a person opens first when something seems wrong. It is whole without its script, which only renews it
// in place, and it asks nobody but this listener. No address and no secret is on it.

export interface StatusPageOptions extends HealthOptions {
  /** Wall-clock milliseconds. */
  readonly wallMs: () => number;
  readonly policy: FreshnessPolicy;
  readonly fields: readonly PublishedField[] | undefined;
  readonly minutes: () => readonly Minute[];
}

/** The page and its two files, by path. */
export const createStatusPage = (
  options: StatusPageOptions,
): readonly (readonly [string, RequestHandler])[] => [
  ['/', (_req, res) => send(res, 'text/html', render(options).html)],
  ['/status-page.css', file('text/css')],
  ['/status-page.js', file('text/javascript')],
];

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

/** By package.json's `imports`: the compiled service finds the same files as its source. */
const file = (type: string): RequestHandler => {
  const name = type === 'text/css' ? 'status-page.css' : 'status-page.js';
  const text = readFileSync(createRequire(import.meta.url).resolve(`#status-page/${name}`), 'utf8');
  return (_req, res) => send(res, type, text);
};

const render = (options: StatusPageOptions): Html => {
  const status = options.list.status();
  const story = tellStory({ status, policy: options.policy, isDraining: options.isDraining() });
  const nowMs = options.wallMs();
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${SIGNS[story.tone]} ${story.headline} banks-bff ${options.environment}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="status-page.css" />
        <script src="status-page.js" type="module"></script>
        <noscript><meta http-equiv="refresh" content="30" /></noscript>
      </head>
      <body>
        <header>
          <p><b>banks-bff</b> ${options.version} <span class="environment">${options.environment}</span></p>
          <p id="as-of">as of ${time(nowMs, nowMs)} UTC</p>
        </header>
        <p id="lost" role="status"></p>
        <main>
          ${verdict(story)} ${facts(options, status, nowMs)}
          <section class="plots" id="plots" aria-label="The last hours">
            ${plots(options.minutes(), options.policy)}
          </section>
        </main>
        <footer>
          <p>
            All times are UTC. <a href="metrics">Metrics</a> <a href="healthz">Health</a>
            <a href="readyz">Readiness</a>
          </p>
        </footer>
      </body>
    </html> `;
};

/** For the tab; the style sheet shows them beside the headline, for those who cannot tell colours apart. */
const SIGNS = { good: '✓', attention: '!', bad: '✕' } as const satisfies Record<Story['tone'], string>;

const verdict = ({ tone, headline, meaning, cause, todo }: Story): Html =>
  html` <section class="verdict" id="verdict" data-tone="${tone}">
    <h1><span id="headline" role="status">${headline}</span></h1>
    <p id="meaning">${meaning}</p>
    <div id="advice">
      ${
        cause === undefined
          ? undefined
          : html`<h2>What is wrong</h2>
              <p>${cause}</p>`
      }
      ${
        todo.length === 0
          ? undefined
          : html`<h2>What to do</h2>
              <ul>
                ${todo.map(step)}
              </ul>`
      }
    </div>
  </section>`;

const step = ({ text, command }: Step): Html =>
  html`<li>${text}${command === undefined ? undefined : html` <code>${command}</code>`}</li>`;

const facts = (
  { policy, fields }: StatusPageOptions,
  { held, state, ageMs, failure, lastFailure, nextLoadInMs }: ListStatus,
  nowMs: number,
): Html => {
  const isServed = state === 'fresh' || state === 'stale';
  const names = fields?.map(({ name }) => name).join(', ') ?? 'every field of the provider';
  return html` <dl class="facts" id="facts">
    <div>
      <dt>Served now</dt>
      <dd>
        <b>${isServed && held ? `${held.count} banks` : 'nothing'}</b>
        ${isServed ? names : 'an error instead'}
      </dd>
    </div>
    <div>
      <dt>Age</dt>
      <dd>${age(ageMs, policy, nowMs)}</dd>
    </div>
    <div>
      <dt>${failure ? 'Next attempt' : 'Next renewal'}</dt>
      <dd>
        ${
          nextLoadInMs === 0
            ? html`<b>under way</b>`
            : html`<b>in ${sayDuration(nextLoadInMs)}</b> at ${time(nowMs + nextLoadInMs, nowMs)}`
        }
      </dd>
    </div>
    <div>
      <dt>Last problem</dt>
      <dd>
        ${
          lastFailure
            ? html`<b>${sayDuration(nowMs - lastFailure.atMs)} ago</b>
                ${failure ? 'not over yet' : `over. ${sayFailure(lastFailure.kind)}`}`
            : html`<b>none</b> since the start`
        }
      </dd>
    </div>
  </dl>`;
};

const age = (ageMs: number | undefined, policy: FreshnessPolicy, nowMs: number): Html => {
  if (ageMs === undefined) return html`<b>no list</b>`;
  const leftMs = policy.ttlMs - ageMs;
  const limit =
    leftMs >= 0 ? `current for ${sayDuration(leftMs)} more` : `${sayDuration(-leftMs)} over its time`;
  return html`<b>${sayDuration(ageMs)}</b> from ${time(nowMs - ageMs, nowMs)}, ${limit}`;
};

/** With its date where another day is meant. */
const time = (wallMs: number, nowMs: number): Html => {
  const iso = new Date(wallMs).toISOString();
  const isToday = iso.slice(0, 10) === new Date(nowMs).toISOString().slice(0, 10);
  const text = isToday ? iso.slice(11, 19) : iso.slice(0, 16).replace('T', ' ');
  return html`<time datetime="${iso}">${text}</time>`;
};
