import type { IncomingMessage } from 'node:http';
import type { FieldRule } from '../../banks/reading/entry.ts';
import { isServable } from '../../banks/freshness.ts';
import { toIso } from '../../clock.ts';
import type { Minute } from '../../telemetry/history.ts';
import type { Action, ShellCommand } from '../../failure-kinds.ts';
import { formatCount } from '../../format-count.ts';
import { formatDuration, formatTime } from './format.ts';
import { html, type Html } from './html.ts';
import { renderPlots } from './plots.ts';
import type { Problem, Situation } from './problems.ts';
import { noContact, verdictOf, type PageVerdict } from './verdict.ts';

// The page that people open first when something seems wrong, as HTML. It is complete without its
// script, which only renews it in place and looks up its parts by id. It contains no address of the
// provider and no secret.

interface PageContent extends Situation {
  readonly environment: string;
  readonly version: string;
  readonly hostName: string;
  readonly fields: readonly FieldRule[] | undefined;
  readonly minutes: readonly Minute[];
  readonly commands: Commands;
}

type Commands = ReturnType<typeof commandsFor>;

export const renderPage = (content: PageContent): Html => {
  const { environment, version, hostName, minutes, policy, nowMs } = content;
  const isProduction = environment === 'production';
  const verdict = verdictOf(content);
  const lost = noContact(formatTime(nowMs, nowMs));
  const titleOf = ({ severity, headline }: PageVerdict): string =>
    `${SIGNS[severity]} ${isProduction ? 'PRODUCTION' : environment}: ${headline} – ${hostName}`;
  return html`<!doctype html>
    <html lang="en" data-version="${version}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${titleOf(verdict)}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="status-page.css" />
        <script src="status-page.js" type="module"></script>
        <noscript><meta http-equiv="refresh" content="30" /></noscript>
      </head>
      <body>
        ${isProduction && html`<aside class="production" aria-label="Environment"><b>PRODUCTION</b></aside>`}
        <header>
          <p>
            <b>banks-bff</b> ${version} on
            <b>${hostName}</b>${!isProduction && html`, ${environment}`}
          </p>
          <p id="as-of">as of ${time(nowMs, nowMs)} UTC</p>
        </header>
        <main>
          ${renderVerdict(verdict, content)} ${renderFacts(content)}
          <section class="plots" id="plots" aria-label="The last hours">
            ${renderPlots(minutes, policy)}
          </section>
        </main>
        <footer>
          <p>
            All times are UTC. <a href="metrics">Metrics</a> <a href="healthz">Health</a>
            <a href="readyz">Readiness</a>
          </p>
        </footer>
        <template id="no-contact" data-title="${titleOf(lost)}"
          >${renderVerdict(lost, content)}</template
        >
      </body>
    </html> `;
};

/**
 * For the title; the style sheet shows the same signs beside the headline, for people who cannot
 * tell colours apart.
 */
const SIGNS = { ok: '✓', warning: '!', error: '✕', unknown: '?' } as const;

const renderVerdict = (
  { severity, headline, meaning, problems, actions }: PageVerdict,
  { commands }: PageContent,
): Html =>
  html` <section class="verdict" id="verdict" data-severity="${severity}">
    <h1><span id="headline" role="status">${headline}</span></h1>
    <div id="meaning"><p>${meaning}</p></div>
    <div id="problems">
      ${problems.length > 0 && html`<h2>What is wrong</h2>`} ${problems.map(renderProblem)}
    </div>
    <div id="actions">${actions.length > 0 && renderActions(actions, commands)}</div>
  </section>`;

const renderProblem = ({ summary, history, details }: Problem): Html =>
  html`<p>${summary}</p>
    ${history !== undefined && html`<p class="failing">${history}</p>`}
    ${details !== undefined && html`<p class="details">Details: ${details}.</p>`}`;

const renderActions = (actions: readonly Action[], commands: Commands): Html => {
  const items = actions.map((action) => {
    if (typeof action === 'string') return html`<li>${action}</li>`;
    const { line, requirement } = commands[action.command];
    return html`<li>${action.text} <code>${line}</code> <small>${requirement}</small></li>`;
  });
  return html`<h2>What to do</h2>
    <ul>
      ${items}
    </ul>`;
};

const renderFacts = (content: PageContent): Html =>
  html` <dl class="facts" id="facts">
    ${servedFact(content)} ${ageFact(content)} ${changeFact(content)} ${nextLoadFact(content)}
  </dl>`;

const fact = (term: string, value: string, note: string | Html): Html =>
  html`<div>
    <dt>${term}</dt>
    <dd><b>${value}</b> ${note}</dd>
  </div>`;

const servedFact = ({ status: { cached, state, failure }, fields }: PageContent): Html => {
  if (!isServable(state) && !failure)
    return fact('Users get', 'nothing yet:', 'requests wait for a list');
  if (!cached || !isServable(state)) return fact('Users get', 'errors', 'instead of a list');
  const names = fields?.map(({ name }) => name).join(', ') ?? 'all fields of the provider';
  return fact('Users get', formatCount(cached.count, 'bank', 'banks'), names);
};

const ageFact = ({ status: { ageMs, state }, policy, nowMs }: PageContent): Html => {
  if (ageMs === undefined) return fact('Age of the list', 'no list', 'since the start');
  const overdueMs = ageMs - policy.ttlMs;
  let note = `current for another ${formatDuration(-overdueMs)}`;
  if (state === 'stale') note = `renewal overdue for ${formatDuration(overdueMs)}`;
  if (state === 'expired') note = `expired ${formatDuration(overdueMs - policy.maxStaleMs)} ago`;
  return fact(
    'Age of the list',
    formatDuration(ageMs),
    html`from ${time(nowMs - ageMs, nowMs)}, ${note}`,
  );
};

const changeFact = ({ status: { cached }, nowMs }: PageContent): Html => {
  if (!cached) return fact('Last change', 'none', 'since the start');
  const { changedAtMs } = cached;
  const ago = `${formatDuration(nowMs - changedAtMs)} ago`;
  return fact('Last change', ago, html`of the content, at ${time(changedAtMs, nowMs)}`);
};

const nextLoadFact = ({ status: { failure, nextLoadInMs }, nowMs }: PageContent): Html => {
  const term = failure ? 'Next attempt' : 'Next renewal';
  if (nextLoadInMs === 0) return fact(term, 'in progress', '');
  const atMs = nowMs + nextLoadInMs;
  return fact(term, `in ${formatDuration(nextLoadInMs)}`, html`at ${time(atMs, nowMs)}`);
};

const time = (wallMs: number, nowMs: number): Html =>
  html`<time datetime="${toIso(wallMs)}">${formatTime(wallMs, nowMs)}</time>`;

/**
 * The shell commands on the page, with the requirements for each. Each works if pasted into a POSIX
 * shell: the host check refuses every `Host` that could end the quotes. HTTP/1.0 requests may have
 * none.
 */
export const commandsFor = ({ headers, socket }: IncomingMessage, isRefreshEnabled: boolean) => {
  const { host = `127.0.0.1:${socket.localPort}` } = headers;
  const refresh = (query = '') => ({
    // An unset variable stops the command, and the shell names it.
    line: `curl -X POST -H "Authorization: Bearer \${MANAGEMENT_TOKEN:?is not set}" 'http://${host}/refresh${query}'`,
    requirement: isRefreshEnabled
      ? 'Set MANAGEMENT_TOKEN in your shell to the service’s management token first.'
      : 'POST /refresh is disabled: set MANAGEMENT_TOKEN or MANAGEMENT_TOKEN_FILE for the service and restart it first. Then set MANAGEMENT_TOKEN in your shell.',
  });
  return {
    refresh: refresh(),
    'accept-shrunk': refresh('?accept=shrunk'),
    'accept-drifted': refresh('?accept=drifted'),
    doctor: {
      line: 'node dist/src/main.js doctor',
      requirement:
        'Run it in the directory of the service (in the image: /app), with the service’s environment.',
    },
  } satisfies Record<ShellCommand, { readonly line: string; readonly requirement: string }>;
};
