import type { FreshnessPolicy } from '../../banks/freshness.ts';
import { HISTORY_MINUTES, type Minute } from '../../telemetry/history.ts';
import { html, type Html } from './html.ts';
import { sayDuration } from './story.ts';

// The last hours as small drawings: shapes only, stretched to the width that there is. Everything they say stands in
// words beside them too.

/** The drawing's own units; the screen's are the style sheet's. */
const WIDTH = 360;
const HEIGHT = 72;

export const plots = (minutes: readonly Minute[], { ttlMs }: FreshnessPolicy): Html => {
  const span = WINDOWS.find((window) => window >= minutes.length) ?? HISTORY_MINUTES;
  // The last minute is at the right edge; where the service did not run yet there is nothing.
  const scene: Scene = { minutes, offset: span - minutes.length, step: WIDTH / span, span };
  return html`${agePlot(scene, ttlMs)}${renewalsPlot(scene)}${callsPlot(scene)}${requestsPlot(scene)}`;
};

/** Minutes shown: the least that holds all that is known. */
const WINDOWS = [15, 60, HISTORY_MINUTES];

interface Scene {
  readonly minutes: readonly Minute[];
  readonly offset: number;
  readonly step: number;
  readonly span: number;
}

const agePlot = (scene: Scene, ttlMs: number): Html => {
  const ages = scene.minutes.map(({ oldestAgeMs }) => oldestAgeMs);
  const top = 1.15 * Math.max(ttlMs, ...known(ages));
  const points = ages.flatMap((age, index) =>
    age === undefined ? [] : [`${round(xOf(scene, index + 0.5))},${round(yOf(age, top))}`],
  );
  const ttlY = round(yOf(ttlMs, top));
  const oldest = Math.max(0, ...known(ages));
  return figure(scene, {
    title: 'Age of the list',
    figures: points.length === 0 ? 'no list' : `at most ${sayDuration(oldest)}`,
    legend: html`<span class="key key-limit">stale from ${sayDuration(ttlMs)}</span>`,
    shapes: html`<line class="limit" x1="0" x2="${WIDTH}" y1="${ttlY}" y2="${ttlY}" /><polyline
        class="line"
        points="${points.join(' ')}"
      />`,
  });
};

const renewalsPlot = (scene: Scene): Html => {
  const good = sum(scene.minutes, (minute) => minute.renewed);
  const bad = sum(scene.minutes, (minute) => minute.failed);
  const mark = (index: number, isFailure: boolean): Html => {
    const x = round(xOf(scene, index) + (scene.step - markWidth(scene)) / 2);
    const height = HEIGHT / 2 - 6;
    const y = isFailure ? HEIGHT / 2 + 3 : 3;
    return html`<rect
      class="${isFailure ? 'failed' : 'good'}"
      x="${x}"
      y="${y}"
      width="${round(markWidth(scene))}"
      height="${height}"
    />`;
  };
  return figure(scene, {
    title: 'Renewals',
    figures: `${good} good, ${bad} failed`,
    legend: html`<span class="key key-good">good, above the line</span>
      <span class="key key-failed">failed, below</span>`,
    shapes: html`<line
        class="axis"
        x1="0"
        x2="${WIDTH}"
        y1="${HEIGHT / 2}"
        y2="${HEIGHT / 2}"
      />${scene.minutes.flatMap((minute, index) => [
        ...(minute.renewed > 0 ? [mark(index, false)] : []),
        ...(minute.failed > 0 ? [mark(index, true)] : []),
      ])}`,
  });
};

const callsPlot = (scene: Scene): Html => {
  const slowest = scene.minutes.map(({ slowestCallMs }) => slowestCallMs);
  const longest = Math.max(0, ...known(slowest));
  return figure(scene, {
    title: 'Provider’s answers',
    figures: known(slowest).length === 0 ? 'no calls' : `the slowest took ${sayMs(longest)}`,
    legend: html`<span class="key key-plain">the slowest of each minute</span>`,
    shapes: html`${slowest.flatMap((ms, index) => (ms === undefined ? [] : [bar(scene, index, ms, longest, 'plain')]))}`,
  });
};

const requestsPlot = (scene: Scene): Html => {
  const busiest = Math.max(0, ...scene.minutes.map(({ requests }) => requests));
  const total = sum(scene.minutes, ({ requests }) => requests);
  const failed = sum(scene.minutes, ({ failedRequests }) => failedRequests);
  return figure(scene, {
    title: 'Requests from users',
    figures: total === 0 ? 'none' : `${total}, at most ${busiest} a minute`,
    legend: html`<span class="key key-plain">answered</span>
      <span class="key key-failed">${failed} with an error</span>`,
    shapes: html`${scene.minutes.flatMap(({ requests, failedRequests }, index) => [
      ...(requests > 0 ? [bar(scene, index, requests, busiest, 'plain')] : []),
      ...(failedRequests > 0 ? [bar(scene, index, failedRequests, busiest, 'failed')] : []),
    ])}`,
  });
};

interface Figure {
  readonly title: string;
  readonly figures: string;
  readonly legend: Html;
  readonly shapes: Html;
}

const figure = ({ span }: Scene, { title, figures, legend, shapes }: Figure): Html =>
  html` <figure>
    <figcaption><b>${title}</b> <span>${figures}</span></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${shapes}</svg>
    <p class="scale"><span>${sayDuration(span * 60_000)} ago</span><span>now</span></p>
    <p class="legend">${legend}</p>
  </figure>`;

/** From the bottom up. Never so flat that it cannot be seen. */
const bar = (scene: Scene, index: number, value: number, top: number, className: string): Html => {
  const height = Math.max(2, (HEIGHT - 4) * (value / (top || 1)));
  const x = round(xOf(scene, index) + (scene.step - markWidth(scene)) / 2);
  return html`<rect
    class="${className}"
    x="${x}"
    y="${round(HEIGHT - height)}"
    width="${round(markWidth(scene))}"
    height="${round(height)}"
  />`;
};

/** A minute of six hours is too narrow for the eye: its mark overlaps its neighbours'. */
const markWidth = ({ step }: Scene): number => Math.max(2, step * 0.8);

const xOf = ({ offset, step }: Scene, index: number): number => (offset + index) * step;
const yOf = (value: number, top: number): number => HEIGHT - (HEIGHT - 2) * (value / top);
const round = (value: number): string => String(Math.round(value * 10) / 10);

const known = (values: readonly (number | undefined)[]): number[] =>
  values.filter((value) => value !== undefined);

const sum = (minutes: readonly Minute[], figureOf: (minute: Minute) => number): number =>
  minutes.reduce((total, minute) => total + figureOf(minute), 0);

const sayMs = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);
