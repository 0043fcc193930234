import type { FieldRule } from '../../banks/reading/entry.ts';
import { isServable } from '../../banks/freshness.ts';
import type { Action, ShellCommand } from '../../failure-kinds.ts';
import { formatCount } from '../../format.ts';
import type { Minute } from '../../telemetry/history.ts';
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
  /** Of this machine. */
  readonly hostName: string;
  readonly fields: readonly FieldRule[] | undefined;
  readonly minutes: readonly Minute[];
  /** The name and the port by which the page was reached. */
  readonly host: string;
  readonly isRefreshEnabled: boolean;
}

export const renderPage = (content: PageContent): Html => {
  const { environment, version, hostName, minutes, policy, nowMs } = content;
  const isProduction = environment === 'production';
  const asOf = formatTime(nowMs, nowMs);
  const verdict = verdictOf(content);
  const lost = noContact(asOf);
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
          <p id="as-of">as of ${asOf} UTC</p>
        </header>
        <main>
          ${renderVerdict(verdict, content)}
          <dl class="facts" id="facts">${factsOf(content).map(renderFact)}</dl>
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
  content: PageContent,
): Html =>
  html` <section class="verdict" id="verdict" data-severity="${severity}">
    <h1><span id="headline" role="status">${headline}</span></h1>
    <div id="meaning"><p>${meaning}</p></div>
    <div id="problems">
      ${problems.length > 0 && html`<h2>What is wrong</h2>`} ${problems.map(renderProblem)}
    </div>
    <div id="actions">
      ${
        actions.length > 0 &&
        html`<h2>What to do</h2>
          <ul>
            ${actions.map((action) => renderAction(action, content))}
          </ul>`
      }
    </div>
  </section>`;

const renderProblem = ({ summary, history, details }: Problem): Html =>
  html`<p>${summary}</p>
    ${history !== undefined && html`<p class="failing">${history}</p>`}
    ${details !== undefined && html`<p class="details">Details: ${details}.</p>`}`;

const renderAction = (action: Action, content: PageContent): Html =>
  typeof action === 'string'
    ? html`<li>${action}</li>`
    : html`<li>${action.text} ${renderCommand(action.command, content)}</li>`;

/**
 * A command that works if pasted into a POSIX shell, with what it requires. The host check refuses
 * every `Host` that could end the quotes.
 */
const renderCommand = (command: ShellCommand, { host, isRefreshEnabled }: PageContent): Html => {
  if (command === 'doctor')
    return html`<code>node dist/src/main.js doctor</code>
      <small
        >Run it in the directory of the service (in the image: /app), with the service’s
        environment.</small
      >`;
  // An unset variable stops the command, and the shell names it.
  const line = `curl -X POST -H "Authorization: Bearer \${MANAGEMENT_TOKEN:?is not set}" 'http://${host}/${command}'`;
  const requirement = isRefreshEnabled
    ? 'Set MANAGEMENT_TOKEN in your shell to the service’s management token first.'
    : 'POST /refresh is disabled: set MANAGEMENT_TOKEN or MANAGEMENT_TOKEN_FILE for the service and restart it first. Then set MANAGEMENT_TOKEN in your shell.';
  return html`<code>${line}</code> <small>${requirement}</small>`;
};

type Fact = readonly [term: string, value: string, note: string];

const renderFact = ([term, value, note]: Fact): Html =>
  html`<div>
    <dt>${term}</dt>
    <dd><b>${value}</b> ${note}</dd>
  </div>`;

const factsOf = ({ status, policy, nowMs, fields }: PageContent): readonly Fact[] => {
  const { cached, ageMs, state, failing, nextLoadInMs } = status;
  const names = fields?.map(({ name }) => name).join(', ') ?? 'all fields of the provider';
  let users: Fact = ['Users get', 'errors', 'instead of a list'];
  if (!isServable(state) && !failing)
    users = ['Users get', 'nothing yet:', 'requests wait for a list'];
  if (cached && isServable(state))
    users = ['Users get', formatCount(cached.count, 'bank', 'banks'), names];

  let age: Fact = ['Age of the list', 'no list', 'since the start'];
  let change: Fact = ['Last change', 'none', 'since the start'];
  if (cached && ageMs !== undefined) {
    const overdueMs = ageMs - policy.ttlMs;
    let note = `current for another ${formatDuration(-overdueMs)}`;
    if (state === 'stale') note = `renewal overdue for ${formatDuration(overdueMs)}`;
    if (state === 'expired') note = `expired ${formatDuration(overdueMs - policy.maxStaleMs)} ago`;
    const from = `from ${formatTime(nowMs - ageMs, nowMs)}`;
    age = ['Age of the list', formatDuration(ageMs), `${from}, ${note}`];
    const { changedAtMs } = cached;
    const changed = `of the content, at ${formatTime(changedAtMs, nowMs)}`;
    change = ['Last change', `${formatDuration(nowMs - changedAtMs)} ago`, changed];
  }
  const next = failing ? 'Next attempt' : 'Next renewal';
  const at = `at ${formatTime(nowMs + nextLoadInMs, nowMs)}`;
  return [
    users,
    age,
    change,
    nextLoadInMs === 0
      ? [next, 'in progress', '']
      : [next, `in ${formatDuration(nextLoadInMs)}`, at],
  ];
};
